"""How two bundles differ in effect: as text, as JSON, or as Markdown for a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import Any

from policygen.admission.outcome import Outcome
from policygen.merge.diff import Change
from policygen.render import markdown
from policygen.render.outcome import change_line
from policygen.verify.effects import Because, Comparison, Effect, ObjectDifference

_LONGEST = 400


def summary(found: Comparison) -> str:
    """`3 of 12 objects come out differently; 1 object of the bundle added, 2 changed`."""
    different, total = len(found.different), len(found.effects)
    noun = "object" if total == 1 else "objects"
    verb = "comes" if different == 1 else "come"
    text = (
        f"{different} of {total} {noun} {verb} out differently"
        if different
        else f"all {total} {noun} come out the same"
    )
    if total == 1 and not different:
        text = "the object comes out the same"
    parts = []
    for how in ("added", "removed", "changed"):
        count = sum(item.how == how for item in found.objects)
        if count:
            parts.append(f"{count} {how}")
    return f"{text}; objects of the bundle: {', '.join(parts)}" if parts else text


def text(found: Comparison, *, color: bool = False) -> str:
    """For a terminal: each request that is answered otherwise, then the objects, then the summary."""
    lines: list[str] = []
    for alike, details in _grouped(found.different, color):
        lines += [f"{effect.title} ({effect.where}): {verdict(effect)}" for effect in alike]
        lines += [*details, ""]
    for item in found.objects:
        lines.append(f"{item.how} {item.title}")
        lines += [f"    {_painted(line, color)}" for change in item.changes for line in _change_lines(change)]
        lines += [f"    {note}" for note in item.notes]
    if found.objects:
        lines.append("")
    lines.append(summary(found))
    return "\n".join(lines) + "\n"


def verdict(effect: Effect) -> str:
    """`accepted before, refused now`."""
    old, new = effect.old, effect.new
    if old.allowed and not new.allowed:
        return "accepted before, refused now"
    if new.allowed and not old.allowed:
        return "refused before, accepted now"
    if not new.allowed:
        return "refused with another text"
    if effect.changes:
        count = len(effect.changes)
        return f"{count} change" + ("" if count == 1 else "s")
    if effect.devices:
        return "other devices"
    return "other warnings" if old.warnings != new.warnings else "other audit annotations"


def _grouped(effects: Iterable[Effect], color: bool = False) -> list[tuple[list[Effect], tuple[str, ...]]]:
    """Requests whose answers differ in the same way, told once."""
    groups: dict[tuple[str, ...], list[Effect]] = {}
    for effect in effects:
        groups.setdefault(tuple(_details(effect, color)), []).append(effect)
    return [(alike, details) for details, alike in groups.items()]


def _change_lines(change: Change) -> list[str]:
    """One line, or for a text of several lines those that are different."""
    before, after = change.before, change.after
    if not (isinstance(before, str) and isinstance(after, str) and "\n" in before + after):
        return [change_line(change)]
    compared = list(unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    return [f"~ {change.path}:", *(f"  {line}" for line in compared if not line.startswith("@@"))]


def _details(effect: Effect, color: bool) -> Iterator[str]:
    for line in _answers(effect):
        yield f"  {_painted(line, color)}"
    for because in effect.changes:
        yield f"  {_painted(change_line(because.change), color)}{_reason(because)}"
    yield from (f"  {line}" for line in effect.devices)


def _answers(effect: Effect) -> Iterator[str]:
    """What the server says, where that is different."""
    old, new = effect.old, effect.new
    if (old.allowed, old.message) != (new.allowed, new.message):
        if not old.allowed:
            yield f"- the API server says: {old.message}"
        if not new.allowed:
            yield f"+ the API server says: {new.message}"
    yield from _lists("warning", old.warnings, new.warnings)
    yield from _lists("audit", _audit(old), _audit(new))


def _audit(outcome: Outcome) -> list[str]:
    return [f"{key}: {value}" for key, value in outcome.audit_annotations.items()]


def _lists(noun: str, old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    before, after = list(old), list(new)
    yield from (f"- {noun}: {item}" for item in before if item not in after)
    yield from (f"+ {noun}: {item}" for item in after if item not in before)


def _reason(because: Because) -> str:
    if because.span is None:
        return f"  [rule {because.rule}]" if because.rule else ""
    return f"  [{because.span}: rule {because.rule}]"


def _painted(line: str, color: bool) -> str:
    shown = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    code = {"+": "32", "-": "31", "~": "33"}.get(line[:1])
    return f"\x1b[{code}m{shown}\x1b[0m" if color and code else shown


def as_json(found: Comparison) -> str:
    """`{different, total, effects, objects}`; only what is different has its details."""
    data = {
        "different": len(found.different),
        "total": len(found.effects),
        "effects": [_effect(effect) for effect in found.different],
        "objects": [_object(item) for item in found.objects],
    }
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "object": effect.title,
        "source": effect.where,
        "verdict": verdict(effect),
        "old": _outcome(effect.old, effect.old_rules),
        "new": _outcome(effect.new, effect.new_rules),
        "changes": [
            {
                "op": each.change.op,
                "path": each.change.path,
                **({} if each.change.op == "add" else {"old": each.change.before}),
                **({} if each.change.op == "remove" else {"new": each.change.after}),
                "text": each.text,
                "rule": each.rule,
                "place": str(each.span) if each.span else None,
            }
            for each in effect.changes
        ],
        "devices": list(effect.devices),
    }


def _outcome(outcome: Outcome, rules: tuple[str, ...]) -> dict[str, Any]:
    return {
        "allowed": outcome.allowed,
        "code": outcome.code,
        "message": outcome.message,
        "warnings": list(outcome.warnings),
        "auditAnnotations": dict(outcome.audit_annotations),
        "rules": list(rules),
    }


def _object(item: ObjectDifference) -> dict[str, Any]:
    return {
        "object": item.title,
        "how": item.how,
        "notes": list(item.notes),
        "changes": [
            {
                "op": change.op,
                "path": change.path,
                **({} if change.op == "add" else {"old": change.before}),
                **({} if change.op == "remove" else {"new": change.after}),
            }
            for change in item.changes
        ],
    }


def as_markdown(found: Comparison) -> str:
    """A comment for a pull request: the summary, a table, then the details folded away."""
    out = [f"### policygen: {markdown.escaped(summary(found))}", ""]
    if found.different:
        rows = [
            [markdown.code(effect.title), markdown.escaped(effect.where), markdown.escaped(verdict(effect))]
            for effect in found.different
        ]
        out += [markdown.table(("object", "from", "effect"), rows), ""]
        for alike, _ in _grouped(found.different):
            lines = [*_answers(alike[0]), *(_diff_line(each) for each in alike[0].changes), *alike[0].devices]
            more = f" (and {len(alike) - 1} alike)" if len(alike) > 1 else ""
            title = f"{alike[0].title}{more}: {verdict(alike[0])}"
            out += [markdown.folded(title, markdown.fenced("\n".join(lines), "diff")), ""]
    if found.objects:
        rows = [[item.how, markdown.code(item.title), str(len(item.changes) or "")] for item in found.objects]
        body = markdown.table(("", "object of the bundle", "changes"), rows)
        out += [markdown.folded("Objects of the bundle", body), ""]
    return "\n".join(out)


def _diff_line(because: Because) -> str:
    """With the signs that a `diff` block colours."""
    change = because.change
    tail = f"   # rule {because.rule}" if because.rule else ""
    if change.op == "replace":
        before = json.dumps(change.before, ensure_ascii=False, default=str)
        after = json.dumps(change.after, ensure_ascii=False, default=str)
        return f"- {change.path}: {before}\n+ {change.path}: {after}{tail}"
    return change_line(change) + tail
