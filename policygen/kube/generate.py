"""Builds the facts bundle in `policygen/kube/data`: `python -m policygen.kube.generate`.

The types of 1.36 come from the facts read off the server (pointer and omitempty nature, defaults, list
types). Other versions are stored as differences from it, taken from the schemas of `kubernetes-validate`,
which know neither pointers nor defaults: a field that 1.36 has keeps its nature, one that it lacks is guessed
by the API conventions. Neither source is needed at run time.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

BASE: Final = "1.36"
OTHERS: Final = ("1.34", "1.35", "1.37")
GROUPS: Final = (
    "",
    "admissionregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "node.k8s.io",
    "policy",
    "resource.k8s.io",
    "scheduling.k8s.io",
)
"""Groups whose kinds are followed from version to version."""

BUNDLE: Final = Path(__file__).parent / "data" / "kubernetes.json.gz"
FACTS: Final = Path(__file__).parents[2].parent / "shared" / "facts" / "kubernetes-1.36.json.gz"

_PREFIXES: Final = ("io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.", "io.k8s.api.")
_SPECIAL: Final = {
    "api.resource.Quantity": "resource.Quantity",
    "util.intstr.IntOrString": "intstr.IntOrString",
}
_LEAVES: Final = frozenset(
    {
        "resource.Quantity",
        "intstr.IntOrString",
        "meta/v1.Time",
        "meta/v1.MicroTime",
        "meta/v1.Duration",
        "meta/v1.FieldsV1",
        "runtime.RawExtension",
    }
)

_Json = dict[str, Any]
_Types = dict[str, dict[str, str]]


def build(facts: _Json, schemas: Mapping[str, _Json]) -> _Json:
    """The bundle from the facts of 1.36 and the JSON schemas (`$defs`) by version."""
    base = _renamed(schemas[BASE])
    types: _Types = {}
    for name in facts["types"]:
        if name not in _LEAVES and name != "meta/v1.TypeMeta":
            types[name] = _flat(name, facts["types"], base)
    kinds: dict[str, str] = dict(facts["kinds"])
    atomic = {name for name, entry in facts["types"].items() if entry.get("mapType") == "atomic"}
    unpublished = {name for name, entry in facts["types"].items() if entry.get("noSchema")}
    unpublished -= {name for name in unpublished if name in base}
    bundle: _Json = {
        "base": BASE,
        "kinds": kinds,
        "types": _reachable(types, kinds.values()),
        "atomic": sorted(atomic),
        "unpublished": sorted(unpublished),
    }
    bundle["versions"] = {
        version: _difference(bundle, base, _renamed(schemas[version]), atomic) for version in OTHERS
    }
    return bundle


def encode(bundle: _Json) -> bytes:
    """The bytes of a bundle: the same on every run and machine."""
    text = json.dumps(bundle, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


def sources(facts: Path = FACTS) -> tuple[_Json, dict[str, _Json]] | None:
    """What the bundle is built from, or None where it is not at hand."""
    found = find_spec("kubernetes_validate")
    if found is None or found.origin is None or not facts.exists():
        return None
    root = Path(found.origin).parent / "kubernetes-json-schema"
    schemas = {}
    for version in (BASE, *OTHERS):
        loaded = json.loads((root / f"v{version}.0-local" / "_definitions.json").read_bytes())
        schemas[version] = loaded["$defs"]
    return json.loads(gzip.decompress(facts.read_bytes())), schemas


def _flat(name: str, types: _Json, published: _Json) -> dict[str, str]:
    """The fields of a type with those of its embedded types, as the bundle writes them."""
    fields = _own(name, types)
    schema = published.get(name, {})
    required = schema.get("required", ())
    out = {}
    for key, value in sorted(fields.items()):
        known = schema.get("properties", {}).get(key)
        out[key] = _text(value | _extensions(known, key in required) if known is not None else value)
    return out


def _own(name: str, types: _Json) -> _Json:
    fields: _Json = {}
    for embedded in types[name]["fields"].get("__inline__", ()):
        fields |= _own(embedded, types)
    return fields | {key: value for key, value in types[name]["fields"].items() if key != "__inline__"}


def _text(entry: _Json) -> str:
    """One field: `TYPE [flags] [=DEFAULT]`, read by `catalog.Catalog`."""
    words = [entry["type"]]
    words.extend(flag for flag in ("omitempty", "omitzero", "required") if entry.get(flag))
    if "listType" in entry and (entry["listType"] != "atomic" or entry.get("mapKeys")):
        keys = ",".join(entry.get("mapKeys", ()))
        words.append(f"list={entry['listType']}" + (f":{keys}" if keys else ""))
    if "mapType" in entry:
        words.append(f"map={entry['mapType']}")
    if entry.get("patchStrategy"):
        words.append(f"patch={entry['patchStrategy']}:{entry.get('patchMergeKey', '')}".rstrip(":"))
    if "default" in entry:
        words.append("=" + json.dumps(entry["default"]))
    return " ".join(words)


def _extensions(schema: _Json, required: bool) -> _Json:
    """What a published field says about merging."""
    out: _Json = {}
    if "x-kubernetes-list-type" in schema:
        out["listType"] = schema["x-kubernetes-list-type"]
    if "x-kubernetes-list-map-keys" in schema:
        out["mapKeys"] = schema["x-kubernetes-list-map-keys"]
    if "x-kubernetes-map-type" in schema:
        out["mapType"] = schema["x-kubernetes-map-type"]
    if "x-kubernetes-patch-strategy" in schema:
        out["patchStrategy"] = schema["x-kubernetes-patch-strategy"]
    if "x-kubernetes-patch-merge-key" in schema:
        out["patchMergeKey"] = schema["x-kubernetes-patch-merge-key"]
    if required:
        out["required"] = True
    return out


def _renamed(definitions: _Json) -> _Json:
    return {_type_name(name): schema for name, schema in definitions.items()}


def _type_name(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` as `core/v1.Pod`."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            if rest in _SPECIAL:
                return _SPECIAL[rest]
            return rest.replace(".", "/", 1) if rest.count(".") == 2 else rest
    return name


def _difference(bundle: _Json, base: _Json, other: _Json, atomic: Iterable[str]) -> _Json:
    """What to change in the base to get another version; None removes."""
    kinds: dict[str, str | None] = {}
    for name in bundle["kinds"]:
        if bundle["kinds"][name] in base and bundle["kinds"][name] not in other:
            kinds[name] = None
    for type_name, schema in other.items():
        for entry in schema.get("x-kubernetes-group-version-kind", ()):
            group, version, kind = entry["group"], entry["version"], entry["kind"]
            api_version = f"{group}/{version}" if group else version
            key = f"{api_version} {kind}"
            if type_name.startswith("meta/") or kind.endswith("List") or key in bundle["kinds"]:
                continue
            if group in GROUPS:
                kinds[key] = type_name
    changes: dict[str, dict[str, str | None]] = {}
    for name in sorted(set(other) - _LEAVES):
        changed = _changed_fields(bundle["types"].get(name), base.get(name), other[name])
        if changed or name not in base:
            changes[name] = changed
    merged: _Types = dict(bundle["types"])
    for name, fields in changes.items():
        merged[name] = merged.get(name, {}) | {key: text for key, text in fields.items() if text}
    roots = [*bundle["kinds"].values(), *(name for name in kinds.values() if name)]
    reachable = _reachable(merged, roots)
    flips = sorted(
        name
        for name in reachable
        if name in other and (other[name].get("x-kubernetes-map-type") == "atomic") != (name in set(atomic))
    )
    return {
        "kinds": dict(sorted(kinds.items())),
        "types": {name: fields for name, fields in changes.items() if name in reachable},
        "atomic": flips,
    }


def _changed_fields(known: dict[str, str] | None, base: _Json | None, other: _Json) -> dict[str, str | None]:
    """The fields that another version adds, removes or describes differently."""
    changed: dict[str, str | None] = {}
    properties = other.get("properties", {})
    required = other.get("required", ())
    if known is None or base is None:
        for key, schema in properties.items():
            changed[key] = _text(_guess(schema, key in required))
        return changed if known is None else {}
    before = base.get("properties", {})
    for key in known:
        if key in before and key not in properties:
            changed[key] = None
    for key, schema in properties.items():
        if key in ("apiVersion", "kind") and key not in known:
            continue
        if key not in known:
            changed[key] = _text(_guess(schema, key in required))
            continue
        old = _extensions(before.get(key, {}), key in base.get("required", ()))
        new = _extensions(schema, key in required)
        if old != new:
            changed[key] = _rewritten(known[key], new)
    return changed


def _rewritten(text: str, new: _Json) -> str:
    """A known field with another version's way of merging."""
    words, has_default, default = text.partition(" =")
    type_text, *flags = words.split(" ")
    entry: _Json = (
        {"type": type_text} | {flag: True for flag in flags if flag in ("omitempty", "omitzero")} | new
    )
    if has_default:
        entry["default"] = json.loads(default)
    return _text(entry)


def _guess(schema: _Json, required: bool) -> _Json:
    """A field that the facts do not know: optional structs and numbers are pointers by convention."""
    type_text = _schema_type(schema)
    entry: _Json = {"type": type_text} | _extensions(schema, required)
    if not required:
        entry["omitempty"] = True
        scalar = type_text in ("string", "bytes") or type_text.startswith(("[]", "map["))
        if not scalar and type_text not in ("meta/v1.ObjectMeta", "runtime.RawExtension"):
            entry["type"] = f"*{type_text}"
    return entry


def _schema_type(schema: _Json) -> str:
    if "$ref" in schema:
        return _type_name(schema["$ref"].rpartition("/")[2])
    kind = schema.get("type", "object")
    kind = kind if isinstance(kind, str) else kind[0]
    match kind:
        case "array":
            return "[]" + _schema_type(schema["items"])
        case "object" if "additionalProperties" in schema:
            return "map[string]" + _schema_type(schema["additionalProperties"])
        case "object":
            return "runtime.RawExtension"
        case "integer":
            return str(schema.get("format", "int32"))
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case _:
            return "bytes" if schema.get("format") == "byte" else "string"


def _reachable(types: _Types, roots: Iterable[str]) -> _Types:
    """The types that the roots need."""
    waiting = list(roots)
    found: _Types = {}
    while waiting:
        name = waiting.pop()
        if name in found or name not in types:
            continue
        found[name] = types[name]
        words = (text.split(" ", 1)[0] for text in types[name].values())
        waiting.extend(word.removeprefix("map[string]").lstrip("*[]") for word in words)
    return {name: found[name] for name in sorted(found)}


def main() -> None:
    """Write the bundle."""
    parser = argparse.ArgumentParser(description="Build the bundle of Kubernetes facts.")
    parser.add_argument("--facts", type=Path, default=FACTS)
    found = sources(parser.parse_args().facts)
    if found is None:
        raise SystemExit("the facts file or kubernetes-validate is missing")
    BUNDLE.write_bytes(encode(build(*found)))


if __name__ == "__main__":
    main()
