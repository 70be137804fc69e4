"""Which patch form may touch a field: the schema decides, for every workload of a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policygen.compiler.model_actions import Json, OnConflict
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import bracket, literal
from policygen.kube.catalog import Catalog
from policygen.kube.schema import ELEMENT, ListOf, MapOf


def may_apply(
    path: Sequence[str], value: Json, on_conflict: OnConflict, target: Target, catalog: Catalog
) -> bool:
    """Whether ApplyConfiguration may set a value at a path of the pod.

    Not for custom kinds (the templates are looked up), not where something atomic stands on the way
    (apiserver `patch/smd.go`), not for maps inside the value, and not to replace a struct: merging would
    leave the user's other fields.
    """
    if target.single is None or (isinstance(value, (dict, list)) and on_conflict == "replace"):
        return False
    start = (*target.single, *path)
    for steps in _leaves(value, start):
        for workload in target.workloads:
            schema = catalog.get(workload.api_version, workload.kind)
            if schema is None or schema.at(steps) is None or schema.is_atomic(steps):
                return False
            inner = range(len(start), len(steps))
            if any(isinstance(schema.at(steps[:length]), MapOf) for length in inner):
                return False  # an `Object…{}` cannot spell the keys of a map
    return True


def merges_by(path: Sequence[str], key: str, target: Target, catalog: Catalog) -> bool:
    """Whether a list of the pod merges by this key alone."""
    steps = (*(target.single or ()), *path)
    for workload in target.workloads:
        schema = catalog.get(workload.api_version, workload.kind)
        node = None if schema is None else schema.at(steps)
        if not isinstance(node, ListOf) or node.list_type != "map" or node.keys != (key,):
            return False
    return True


def typed(type_name: str, value: Json) -> str:
    """A value as an apply configuration. Structs are `Object…{}`: a map in a list is refused by the merge."""
    match value:
        case dict():
            fields = [f"{key}: {typed(f'{type_name}.{key}', part)}" for key, part in value.items()]
            return bracket(f"{type_name}{{", fields, "}")
        case list():
            return bracket("[", [typed(type_name, part) for part in value], "]")
        case _:
            return literal(value)


def _leaves(value: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match value:
        case dict() if value:
            for key, part in value.items():
                yield from _leaves(part, (*path, key))
        case list() if value:
            for part in value:
                yield from _leaves(part, (*path, ELEMENT))
        case _:
            yield path
