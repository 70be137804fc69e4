"""Nodes -> the spec's blocks, with every fault of shape as a diagnostic at its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from policygen.compiler.spec import PlacementPolicySpec, QuotaSpec, TenantSpec
from policygen.compiler.spec_base import Block, NodeDict, Reading, UnknownKey, descend, known_keys
from policygen.compiler.spec_inject import InjectSpec
from policygen.compiler.spec_match import MatchSpec
from policygen.compiler.spec_rules import PlaceSpec, RuleSpec
from policygen.compiler.yaml import Mapping, Node, Scalar, Sequence
from policygen.diagnostics import Diagnostics, Span, suggestion

_NOUNS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number",
    "float_type": "a number",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_AMOUNT = {"a whole number", "a number", "a text"}
_TRUTH = {
    **dict.fromkeys(("y", "yes", "on", "true"), "true"),
    **dict.fromkeys(("n", "no", "off", "false"), "false"),
}
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")
_PAIR = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_./]*)=([-A-Za-z0-9_.]*)")
_GLUED = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([^\s:/]\S*)")
_MINOR = re.compile(r"1\.[0-9]+")
_NAMES_OF = {"priority": "priorities", "claim": "claims"}
_FORMS = {
    "uses": "{{resource: {0}}}",
    "image": "{{startsWith: {0}}}",
    "owner": "{{kind: {0}}}",
    "align": "{{{0}: required}}",
    "configMap": "{{name: {0}}}",
    "persistentVolumeClaim": "{{claimName: {0}}}",
    "hostPath": "{{path: {0}}}",
}
"""Mappings of which people write the one value that comes to their mind -> the mapping with it."""


def read_spec(document: Mapping, found: Diagnostics) -> PlacementPolicySpec | None:
    """The spec that a document holds, or nothing when its shape is wrong."""
    reading = Reading()
    spec: PlacementPolicySpec | None = None
    try:
        spec = PlacementPolicySpec.model_validate(NodeDict(document), context=reading)
    except ValidationError as error:
        _report(document, error.errors(include_url=False, include_input=False), found)
    for key in reading.empty:
        found.error(
            "wrong-type", f"`{key.text}` is empty", key.span, help=["give it a value, or leave the key out"]
        )
    for unknown in reading.unknown:
        _report_unknown(unknown, document, found)
    return None if found.has_errors else spec


def _report_unknown(unknown: UnknownKey, document: Mapping, found: Diagnostics) -> None:
    name = unknown.key.text
    help = []
    if unknown.replaced:
        help.append("write " + " or ".join(f"`{word}`" for word in unknown.replaced))
    elif homes := _homes(unknown):
        help.append(f"`{name}` belongs under " + " or ".join(f"`{home}`" for home in homes))
    elif name in known_keys(RuleSpec) and _is_part_of_rule(unknown):
        help.append(f"`{name}` belongs to the rule itself, beside `match`")
    elif device := _device_amount(unknown, document):
        help.append(f"write `devices: {{{device}}}`")
    elif close := suggestion(name, unknown.known):
        help.append(f"did you mean `{close}`?")
    else:
        help.append("known here: " + ", ".join(f"`{key}`" for key in unknown.known))
    found.error("unknown-key", f"unknown key `{name}`", unknown.key.span, help=help)


_RULE_PARTS: dict[str, type[Block]] = {"match": MatchSpec, "place": PlaceSpec, "inject": InjectSpec}


def _is_part_of_rule(unknown: UnknownKey) -> bool:
    return any(unknown.known == known_keys(block) for block in _RULE_PARTS.values())


def _homes(unknown: UnknownKey) -> list[str]:
    """The parts of a rule that have a key which stands in another part, or in the rule itself."""
    if not _is_part_of_rule(unknown) and unknown.known != known_keys(RuleSpec):
        return []
    return [part for part, block in _RULE_PARTS.items() if unknown.key.text in known_keys(block)]


def _device_amount(unknown: UnknownKey, document: Mapping) -> str | None:
    """A device of the spec with an amount, where the block counts devices under a key of their own."""
    devices = descend(document, ("spec", "devices"))
    name, value = unknown.key.text, unknown.value
    if unknown.known not in (known_keys(TenantSpec), known_keys(QuotaSpec)) or not isinstance(value, Scalar):
        return None
    return f"{name}: {value.text}" if isinstance(devices, Mapping) and name in devices.by_key else None


def _report(document: Mapping, errors: Iterable[ErrorDetails], found: Diagnostics) -> None:
    """One diagnostic for each place: the forms of one value fail together."""
    by_place: dict[int, tuple[Node, Scalar | None, list[ErrorDetails]]] = {}
    for error in errors:
        node, key = _place(document, error["loc"])
        if error["type"] == "missing":
            _report_missing(node, key, str(error["loc"][-1]), found)
            continue
        by_place.setdefault(id(node), (node, key, []))[2].append(error)
    for node, key, group in by_place.values():
        _report_value(node, key, group, found)


def _place(document: Mapping, location: tuple[int | str, ...]) -> tuple[Node, Scalar | None]:
    """The node that an error is about, and its key. Parts of the location that name a form are skipped."""
    node: Node = document
    key: Scalar | None = None
    for step in location:
        if isinstance(node, Mapping) and str(step) in node.by_key:
            entry = node.by_key[str(step)]
            node, key = entry.value, entry.key
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node, key = node.items[step], None
    return node, key


def _report_missing(node: Node, key: Scalar | None, name: str, found: Diagnostics) -> None:
    where = f"`{key.text}`" if key else "this"
    span = key.span if key else Span(node.span.source, node.span.start, node.span.start + 1)
    found.error("missing-key", f"{where} needs the key `{name}`", span, help=[f"add `{name}:`"])


def _report_value(node: Node, key: Scalar | None, errors: list[ErrorDetails], found: Diagnostics) -> None:
    error = errors[0]
    context: dict[str, Any] = error.get("ctx", {})
    subject = f"`{key.text}`" if key else "this item"
    kind = error["type"]
    if kind == "literal_error" and _fits_text(node):
        words = _words(context["expected"])
        assert isinstance(node, Scalar)
        _report_word(node, subject, words, found)
    elif kind in {"greater_than_equal", "less_than_equal"}:
        bound = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']}"
        found.error("out-of-range", f"{subject} must be {bound}", node.span)
    elif kind == "too_short":
        found.error("empty-value", f"{subject} must not be empty", node.span)
    else:
        nouns = [_NOUNS[item["type"]] for item in errors if item["type"] in _NOUNS]
        if any(item["type"] == "literal_error" for item in errors):
            nouns += [
                f"`{word}`" for item in errors for word in _words(item.get("ctx", {}).get("expected", ""))
            ]
        models = [item["ctx"]["class_name"] for item in errors if "class_name" in item.get("ctx", {})]
        if set(nouns) >= _AMOUNT and "`true` or `false`" not in nouns:
            nouns = ["an amount such as `4` or `16Gi`"]
        _report_type(node, key, subject, list(dict.fromkeys(nouns)), models[0] if models else "", found)


def _fits_text(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is not None and not isinstance(node.value, bool)


def _words(expected: str) -> list[str]:
    return [word.strip("'") for word in expected.replace(" or ", ", ").split(", ") if word]


def _report_word(node: Scalar, subject: str, words: list[str], found: Diagnostics) -> None:
    listed = ", ".join(f"`{word}`" for word in words)
    if words and node.text not in words and all(_MINOR.fullmatch(word) for word in words):
        help, listed = f"supported are `{words[0]}` to `{words[-1]}`", ""
    elif node.text in words:
        help = f'quote it, as a number is read otherwise: "{node.text}"'
    elif close := suggestion(node.text, words):
        help = f"did you mean `{close}`?"
    else:
        help = f"use one of {listed}" if len(words) > 1 else f"write {listed}"
    notes = [] if listed in help else [f"known are {listed}"]
    found.error("unknown-word", f"{subject} cannot be `{node.text}`", node.span, notes=notes, help=[help])


def _report_type(
    node: Node, key: Scalar | None, subject: str, nouns: list[str], model: str, found: Diagnostics
) -> None:
    wanted = " or ".join(nouns) if nouns else "something else"
    advice = _advice(node, key, nouns, model)
    message = f"{subject} must be {wanted}, not {_kind_of(node)}"
    found.error("wrong-type", message, node.span, help=[advice] if advice else [])


def _advice(node: Node, key: Scalar | None, nouns: list[str], model: str) -> str | None:
    """What to write instead, where it can be guessed."""
    if "a list" in nouns and "a mapping" not in nouns and not isinstance(node, Sequence):
        return _as_list(node, key)
    if "a mapping" in nouns and not isinstance(node, Mapping):
        return _as_mapping(node, key.text if key else "", model)
    if isinstance(node, Scalar):
        return _as_scalar(node, key.text if key else "", nouns)
    only = _only_text(node)
    return f"write `{key.text}: {only}`" if key is not None and only is not None else None


def _only_text(node: Node) -> str | None:
    """The one value of a mapping or list, which is written without it."""
    inner = [entry.value for entry in node.entries] if isinstance(node, Mapping) else []
    inner = list(node.items) if isinstance(node, Sequence) else inner
    only = inner[0] if len(inner) == 1 else None
    return only.text if isinstance(only, Scalar) and only.value is not None and len(only.text) <= 40 else None


def _as_scalar(node: Scalar, key: str, nouns: list[str]) -> str | None:
    if "a text" in nouns:
        if key in _NAMES_OF:
            return f"name one that `{_NAMES_OF[key]}` declares"
        return f'quote it: "{node.text}"' if node.value is not None else 'write `""` for an empty text'
    if "`true` or `false`" in nouns and str(node.value).lower() in _TRUTH:
        return f"write `{_TRUTH[str(node.value).lower()]}`" + (" without quotes" if node.style else "")
    if "a whole number" in nouns and _NUMBER.fullmatch(node.text) and float(node.text).is_integer():
        return f"write `{int(float(node.text))}`" + (" without quotes" if node.style else "")
    return "write `all`" if node.text.lower() == "all" and "`all`" in nouns else None


def _as_list(node: Node, key: Scalar | None) -> str:
    """How to write one item as a list, where it is short enough to be shown."""
    if key is not None and key.text == "rules" and isinstance(node, Mapping) and node.entries:
        return f"rules are a list: begin this one with `- name: {node.entries[0].key.text}`"
    text = node.span.source.text[node.span.start : node.span.end]
    return f"write `[{text}]`" if len(text) <= 40 and "\n" not in text else "begin the item with `- `"


def _as_mapping(node: Node, key: str, model: str) -> str | None:
    """How to write a value, or a list of named things, as a mapping."""
    if isinstance(node, Sequence):
        first = node.items[0] if node.items else None
        if isinstance(first, Scalar) and (pair := _PAIR.fullmatch(first.text)):
            return f"write `{{{pair[1]}: {pair[2]}}}`"
        if key == "perCount" and isinstance(first, Scalar):
            return f'write the limit before its claim: `{{"2": {first.text}}}`'
        name = first.by_key.get("name") if isinstance(first, Mapping) else None
        if name is not None and isinstance(name.value, Scalar):
            return f"names are keys here: write `{name.value.text}: …`"
        return None
    assert isinstance(node, Scalar)
    if node.value is None or len(node.text) > 40:
        return None
    if glued := _GLUED.fullmatch(node.text):
        return f"a key has a blank after its colon: `{glued[1]}: {glued[2]}`"
    if pair := _PAIR.fullmatch(node.text):
        return f"write `{{{pair[1]}: {pair[2]}}}`"
    if key in _FORMS:
        return f"write `{_FORMS[key].format(node.text.strip('*'))}`"
    needed = _needed_keys(model)
    if len(needed) == 1:
        return f"write `{{{needed[0]}: {node.text}}}`"
    return "write `{" + ", ".join(f"{name}: …" for name in needed) + "}`" if needed else None


def _needed_keys(model: str) -> list[str]:
    """The keys that a block cannot do without, by the name of its class."""
    blocks = [Block]
    for block in blocks:
        blocks += block.__subclasses__()
        if block.__name__ == model:
            fields = block.model_fields.items()
            return [info.alias or name for name, info in fields if info.is_required()]
    return []


def _kind_of(node: Node) -> str:
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "empty"
        case Scalar(value=bool()):
            return f"`{node.text}`"
        case Scalar(value=float()):
            return f"`{node.text}`"
        case Scalar(value=int()):
            return "a number"
        case Scalar():
            return "a text"
