"""The JSON Schema of the spec language. Descriptions are the texts under attributes of the spec's classes."""

from __future__ import annotations

import ast
import inspect
import json
from types import ModuleType
from typing import Any

from policygen.compiler import spec, spec_inject, spec_match, spec_rules
from policygen.compiler.spec_base import Block

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """The schema as JSON text, the same bytes every time."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


def spec_schema() -> dict[str, Any]:
    """The schema of a whole spec."""
    generated = spec.PlacementPolicySpec.model_json_schema(by_alias=True, mode="validation")
    modules = (spec, spec_rules, spec_match, spec_inject)
    described = {name: texts for module in modules for name, texts in _descriptions(module).items()}
    definitions = generated.pop("$defs")
    for name, definition in definitions.items():
        _describe(definition, described.get(name, {}))
    _describe(generated, described["PlacementPolicySpec"])
    result = {"$schema": DIALECT, "title": "PlacementPolicy", **_tidy(generated)}
    result["title"] = "PlacementPolicy"
    result["$defs"] = {name: _tidy(definition) for name, definition in sorted(definitions.items())}
    return result


def _describe(definition: dict[str, Any], texts: dict[str, str]) -> None:
    for key, value in definition.get("properties", {}).items():
        if key in texts:
            value["description"] = texts[key]


def _descriptions(module: ModuleType) -> dict[str, dict[str, str]]:
    """Class -> key -> the text under the attribute, also of base classes."""
    own: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            texts = dict(own.get(_base_name(node), {}))
            texts.update(_attribute_texts(getattr(module, node.name), node))
            own[node.name] = texts
    return own


def _base_name(node: ast.ClassDef) -> str:
    base = node.bases[0]
    return base.id if isinstance(base, ast.Name) else ""


def _attribute_texts(block: type[Block], node: ast.ClassDef) -> dict[str, str]:
    texts = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            field = block.model_fields.get(statement.target.id)
            if field is not None:
                texts[field.alias or statement.target.id] = " ".join(str(following.value.value).split())
    return texts


def _tidy(value: Any) -> Any:
    """Without generated titles, without `null` (no key of a spec may be empty) and its defaults."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for key, item in value.items():
        if key == "title" and isinstance(item, str):
            continue
        if key == "default" and item is None:
            continue
        if key in {"anyOf", "oneOf"} and isinstance(item, list):
            kept = [_tidy(option) for option in item if option != {"type": "null"}]
            if len(kept) == 1:
                result.update(kept[0])
            else:
                result["anyOf"] = kept
            continue
        if key == "properties":
            result[key] = {name: _tidy(below) for name, below in item.items()}
            continue
        result[key] = _tidy(item)
    return result
