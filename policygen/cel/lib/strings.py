"""Functions on texts (cel-go `ext/strings.go`): those that every Kubernetes version has.

Positions count code points. `format` and `strings.quote` came later, see `strings_format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from policygen.cel import types
from policygen.cel.cost import STRING_FACTOR, first_text_cost, first_traversal_cost, size_of
from policygen.cel.decls import MAX, Binding, CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError
from policygen.cel.types import Type
from policygen.cel.values import Value, type_name

_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Go's `unicode.IsSpace`."""
_LONGEST: Final = 1 << 24
"""A longer text is refused instead of filling memory; no cost limit lets one through."""


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    """The character at a position; empty just behind the last."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    """Where a text first occurs from an offset on, or -1."""
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def last_index_of(text: str, part: str) -> int:
    """Where a text last occurs, or -1."""
    return text.rfind(part)


def last_index_of_offset(text: str, part: str, offset: int) -> int:
    """Where a text last occurs at or before an offset, or -1."""
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def lower_ascii(text: str) -> str:
    """ASCII letters in lower case."""
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """ASCII letters in upper case."""
    return text.translate(_UPPER)


def trim(text: str) -> str:
    """Without white space at both ends."""
    return text.strip(_SPACE)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Every occurrence replaced, or the first `limit` of them."""
    if len(new) > len(old):
        count = text.count(old)
        if limit >= 0:
            count = min(count, limit)
        if len(text) + count * (len(new) - len(old)) > _LONGEST:
            raise EvalError("replacement is too long")
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """The pieces between separators, at most `limit` of them unless that is negative."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def substring(text: str, start: int) -> str:
    """From a position to the end."""
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_range(text: str, start: int, end: int) -> str:
    """From a position up to, and without, another."""
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end > len(text):
        raise _out_of_range(end)
    return text[start:end]


def join(items: Sequence[Value], separator: str = "") -> str:
    """Texts one after the other with a separator between them."""
    for item in items:
        if type(item) is not str:
            raise _no_text(item)
    if len(items) * len(separator) > _LONGEST:
        raise EvalError("joined text is too long")
    return separator.join(items)


_NO_TEXT: Final = {
    "int": "unsupported type conversion from 'int' to string",
    "uint": "unsupported type conversion from 'uint' to string",
    "double": "type conversion error from Double to 'string'",
    "bool": "type conversion error from bool to 'string'",
    "bytes": "type conversion error from Bytes to 'string'",
    "list": "type conversion error from list to 'string'",
    "map": "type conversion error from map to 'string'",
}


def _no_text(item: Value) -> EvalError:
    """A list whose first element is a text, and a later one is not (cel-go's `ConvertToNative`)."""
    name = type_name(item)
    return EvalError(_NO_TEXT.get(name, f"type conversion error from '{name}' to 'string'"))


def _twice_cost(args: Sequence[Value], _result: Value) -> int:
    """Going over a text and building the result."""
    return ceil(size_of(args[0]) * 2 * STRING_FACTOR)


def _join_cost(_args: Sequence[Value], result: Value) -> int:
    return ceil(size_of(result) * 2 * STRING_FACTOR)


def _estimate_same_size(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def estimate_index(args: Sequence[Estimated]) -> CallEstimate:
    """Going over a text, or comparing every element of a list (`indexOf`, `max`, `sum`, …)."""
    size = args[0].size_or_any
    if not args[0].type.params:
        return CallEstimate(size.scaled(STRING_FACTOR))
    element = Range(1, 1)
    if args[0].type.params[0].kind in {"string", "bytes"}:
        element += Range(0, MAX).scaled(STRING_FACTOR)
    return CallEstimate(size * element)


def _estimate_split(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    most = size.greatest
    if len(args) > 2 and type(args[2].literal) is int:
        most = args[2].literal % (MAX + 1)
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Range(0, most))


def _estimate_replace(args: Sequence[Estimated]) -> CallEstimate:
    """The longest and the shortest result (apiserver `library/cost.go`)."""
    size, old, new = (arg.size_or_any for arg in args[:3])
    least_count = most_count = least_kept = most_kept = 0
    if old.least == 0:
        most_count, most_kept = min(size.greatest + 1, MAX), size.greatest
    elif new.greatest <= old.least:
        most_kept = size.greatest
    else:
        most_count = ceil(size.greatest / old.least)
    if old.greatest == 0:
        least_count, least_kept = min(size.least + 1, MAX), size.least
    elif old.greatest <= new.least:
        least_kept = size.least
    else:
        least_count = ceil(size.least / old.greatest)
    result = Range(least_count, most_count) * new + Range(least_kept, most_kept)
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _estimate_join(args: Sequence[Estimated]) -> CallEstimate:
    count = args[0].size_or_any
    size = count * Range(0, MAX) if args[0].type.params else Range(0, 0)
    if len(args) > 1:
        between = Range(max(count.least - 1, 0), max(count.greatest - 1, 0))
        size += args[1].size_or_any * between
    return CallEstimate(size.scaled(STRING_FACTOR), size)


_S, _I = types.STRING, types.INT
_TEXTS: Final = types.list_of(_S)


def _examples(*texts: str) -> tuple[Example, ...]:
    return tuple(Example(text) for text in texts)


def _text_function(name: str, overload: str, bind: Binding, doc: str, *examples: str) -> FunctionDecl:
    """A function of one text that gives a text of the same size."""
    return FunctionDecl(
        name,
        (
            Overload(
                overload,
                (_S,),
                _S,
                bind,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_same_size,
                doc=doc,
                examples=_examples(*examples),
            ),
        ),
    )


def _index_function(
    name: str, overload: str, plain: Binding, from_offset: Binding, doc: str, *examples: str
) -> FunctionDecl:
    params: tuple[tuple[Type, ...], ...] = ((_S, _S), (_S, _S, _I))
    return FunctionDecl(
        name,
        (
            Overload(
                overload,
                params[0],
                _I,
                plain,
                member=True,
                cost=first_traversal_cost,
                estimate=estimate_index,
                doc=doc,
                examples=_examples(*examples),
            ),
            Overload(
                f"{overload}_int",
                params[1],
                _I,
                from_offset,
                member=True,
                cost=first_traversal_cost,
                estimate=estimate_index,
            ),
        ),
    )


FUNCTIONS: Final = (
    FunctionDecl(
        "charAt",
        (
            Overload(
                "string_char_at_int",
                (_S, _I),
                _S,
                char_at,
                member=True,
                doc="the character at a position, empty just behind the last one",
                examples=(
                    Example("'hello'.charAt(4) == 'o'"),
                    Example("'hello'.charAt(5) == ''"),
                    Example("'hello'.charAt(6)", error="index out of range: 6"),
                ),
            ),
        ),
    ),
    _index_function(
        "indexOf",
        "string_index_of_string",
        index_of,
        index_of,
        "where a text first occurs in another, or -1; from an offset if one is given",
        "'hello mellow'.indexOf('ello') == 1",
        "'hello mellow'.indexOf('ello', 2) == 7",
        "'hello'.indexOf('x') == -1",
    ),
    _index_function(
        "lastIndexOf",
        "string_last_index_of_string",
        last_index_of,
        last_index_of_offset,
        "where a text last occurs in another, or -1; at or before an offset if one is given",
        "'hello mellow'.lastIndexOf('ello') == 7",
        "'hello mellow'.lastIndexOf('ello', 6) == 1",
    ),
    _text_function(
        "lowerAscii",
        "string_lower_ascii",
        lower_ascii,
        "the text with its ASCII letters in lower case",
        "'TacoCÆt'.lowerAscii() == 'tacocÆt'",
    ),
    _text_function(
        "upperAscii",
        "string_upper_ascii",
        upper_ascii,
        "the text with its ASCII letters in upper case",
        "'tacocæt'.upperAscii() == 'TACOCæT'",
    ),
    _text_function(
        "trim",
        "string_trim",
        trim,
        "the text without white space at its ends",
        "'  trim\\n '.trim() == 'trim'",
    ),
    FunctionDecl(
        "replace",
        (
            Overload(
                "string_replace_string_string",
                (_S, _S, _S),
                _S,
                replace,
                member=True,
                cost=_twice_cost,
                estimate=_estimate_replace,
                doc="the text with one part replaced by another, everywhere or a number of times",
                examples=_examples(
                    "'hello hello'.replace('he', 'we') == 'wello wello'",
                    "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
                ),
            ),
            Overload(
                "string_replace_string_string_int",
                (_S, _S, _S, _I),
                _S,
                replace,
                member=True,
                cost=_twice_cost,
                estimate=_estimate_replace,
            ),
        ),
    ),
    FunctionDecl(
        "split",
        (
            Overload(
                "string_split_string",
                (_S, _S),
                _TEXTS,
                split,
                member=True,
                cost=_twice_cost,
                estimate=_estimate_split,
                doc="the pieces between separators, all or a number of them",
                examples=_examples(
                    "'a,b,c'.split(',') == ['a', 'b', 'c']",
                    "'a,b,c'.split(',', 2) == ['a', 'b,c']",
                    "'ab'.split('') == ['a', 'b']",
                ),
            ),
            Overload(
                "string_split_string_int",
                (_S, _S, _I),
                _TEXTS,
                split,
                member=True,
                cost=_twice_cost,
                estimate=_estimate_split,
            ),
        ),
    ),
    FunctionDecl(
        "substring",
        (
            Overload(
                "string_substring_int",
                (_S, _I),
                _S,
                substring,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_same_size,
                doc="the part of a text from a position, up to another or the end",
                examples=_examples("'tacocat'.substring(4) == 'cat'", "'tacocat'.substring(0, 4) == 'taco'"),
            ),
            Overload(
                "string_substring_int_int",
                (_S, _I, _I),
                _S,
                substring_range,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_same_size,
            ),
        ),
    ),
    FunctionDecl(
        "join",
        (
            Overload(
                "list_join",
                (_TEXTS,),
                _S,
                join,
                member=True,
                cost=_join_cost,
                estimate=_estimate_join,
                doc="texts one after the other, with a separator between them if one is given",
                examples=_examples("['a', 'b'].join() == 'ab'", "['a', 'b'].join(', ') == 'a, b'"),
            ),
            Overload(
                "list_join_string",
                (_TEXTS, _S),
                _S,
                join,
                member=True,
                cost=_join_cost,
                estimate=_estimate_join,
            ),
        ),
    ),
)
