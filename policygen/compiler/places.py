"""Where each code point of a YAML scalar stands in its source, through quotes, escapes and folding."""

from __future__ import annotations

from dataclasses import dataclass, field

from policygen.diagnostics import Span

_ESCAPE_LENGTH = {"x": 4, "u": 6, "U": 10}
_BREAKS = "\r\n"
_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the user, in which every code point knows its place in the source, also in block scalars."""

    value: str
    span: Span = field(compare=False, repr=False)
    offsets: tuple[int, ...] = field(compare=False, repr=False)
    """Source offset of each code point of `value`, and one more for its end."""

    def inner(self, start: int, end: int) -> Span:
        """The span of `value[start:end]` in the source."""
        last = len(self.offsets) - 1
        first = self.offsets[max(0, min(start, last))]
        behind = self.offsets[max(0, min(end - 1, last))] + 1 if end > start else first
        return Span(self.span.source, first, max(first, behind))


def scalar_offsets(span: Span, text: str, style: str | None) -> tuple[int, ...]:
    """The source offset of every code point of `text`, and one more for its end."""
    places = _block(span, text) if style in {"|", ">"} else _flow(span, text, style)
    end = span.end - (1 if style in {"'", '"'} else 0)
    if len(places) < len(text):
        places += [end] * (len(text) - len(places))
    return (*places[: len(text)], places[len(text)] if len(places) > len(text) else end)


def _flow(span: Span, text: str, style: str | None) -> list[int]:
    """Plain and quoted scalars: one escape or one code point each, line breaks folded."""
    raw = span.source.text
    at, end = (span.start + 1, span.end - 1) if style in {"'", '"'} else (span.start, span.end)
    places: list[int] = []
    while at < end and len(places) <= len(text):
        char = raw[at]
        if style == '"' and char == "\\":
            at = _escape(raw, at, places)
        elif style == "'" and raw.startswith("''", at):
            places.append(at)
            at += 2
        elif char in _BREAKS or (char in _BLANKS and _blank_until_break(raw, at, end)):
            at = _fold(raw, at, end, places)
        else:
            places.append(at)
            at += 1
    return places


def _escape(raw: str, at: int, places: list[int]) -> int:
    """One escape of a double-quoted scalar; an escaped line break stands for nothing."""
    kind = raw[at + 1]
    if kind in _BREAKS:
        at += 3 if raw.startswith("\r\n", at + 1) else 2
        while raw[at] in _BLANKS:
            at += 1
        return at
    places.append(at)
    return at + _ESCAPE_LENGTH.get(kind, 2)


def _blank_until_break(raw: str, at: int, end: int) -> bool:
    while at < end and raw[at] in _BLANKS:
        at += 1
    return at < end and raw[at] in _BREAKS


def _fold(raw: str, at: int, end: int, places: list[int]) -> int:
    """A run of blanks around line breaks: one break is a space, n breaks are n - 1 breaks."""
    breaks = []
    while at < end and raw[at] in _BLANKS + _BREAKS:
        if raw[at] in _BREAKS:
            breaks.append(at)
            at += 1 if raw.startswith("\r\n", at) else 0
        at += 1
    places += breaks if len(breaks) == 1 else breaks[1:]
    return at


def _block(span: Span, text: str) -> list[int]:
    """Literal and folded scalars. Everything but blank space stands there as it is, in order; a run of blank
    space maps break to break, blanks before the first break to its start, those behind the last to its end.
    """
    raw = span.source.text
    header_end = raw.find("\n", span.start)
    at = span.end if header_end < 0 else header_end + 1
    places: list[int] = []
    index = 0
    while index < len(text):
        if text[index] not in " \t\n":
            while at < len(raw) and raw[at] != text[index]:
                at += 1
            places.append(at)
            at += 1
            index += 1
            continue
        run = index
        while run < len(text) and text[run] in " \t\n":
            run += 1
        stop = at
        while stop < len(raw) and raw[stop] in " \t\r\n":
            stop += 1
        places += _blank_run(text[index:run], raw, at, stop)
        at, index = stop, run
    return places


def _blank_run(run: str, raw: str, start: int, stop: int) -> list[int]:
    breaks = [at for at in range(start, stop) if raw[at] == "\n"]
    last = max(run.rfind("\n"), -1)
    places = []
    seen = 0
    for index, char in enumerate(run):
        if char == "\n" or (breaks and "\n" not in run and index == len(run) - 1 and len(run) == 1):
            places.append(breaks[min(seen, len(breaks) - 1)] if breaks else start)
            seen += 1
        elif index > last >= 0:
            places.append(max(start, stop - (len(run) - index)))
        else:
            places.append(min(start + index, max(start, stop - 1)))
    return places
