"""Recorded cases from which we differ, each with its reason.

The list is strict: a case that is on it and agrees makes the run fail, so that the list cannot grow old.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SHARED_ID: Final = "two cases of the suite share this id, and the recording is the answer to the other one"
_PLANNED_KEY: Final = "the API server refuses a constant that is no key before anything is evaluated"
_REPEATED_KEY: Final = "the API server's cel-go keeps the last of two equal keys"
_ABSENT_FIELD: Final = "the API server's cel-go takes a field behind an optional as absent, also of a number"
_BACKSLASHES: Final = "the suite's text lost its backslashes on the way; the API server answers as we do"
_STRING_INDEX: Final = "the API server's version 2 of the string extension gives -1 for an index out of range"
_MILLISECONDS: Final = "cel-go gives the whole duration in milliseconds"

KNOWN_DIFFERENCES: Final[Mapping[str, str]] = {
    "celspec-string_ext/index_of/empty_index": _SHARED_ID,
    "celspec-string_ext/index_of/string_index": _SHARED_ID,
    "fields/map_fields/map_bad_key_type_or_true": _PLANNED_KEY,
    "fields/map_fields/map_bad_key_type_and_false": _PLANNED_KEY,
    "fields/qualified_identifier_resolution/map_value_repeat_key": _REPEATED_KEY,
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous": _REPEATED_KEY,
    "optionals/optionals/map_null_entry_no_such_key": _ABSENT_FIELD,
    "optionals/optionals/map_present_key_invalid_field": _ABSENT_FIELD,
    "parse/bytes_literals/triple_single_quoted_unescaped_punctuation": _BACKSLASHES,
    "parse/bytes_literals/triple_double_quoted_unescaped_punctuation": _BACKSLASHES,
    "string_ext/value_errors/indexof_out_of_range": _STRING_INDEX,
    "string_ext/value_errors/lastindexof_out_of_range": _STRING_INDEX,
    "timestamps/duration_converters/get_milliseconds": _MILLISECONDS,
}
"""Id of a case -> why our answer differs."""
