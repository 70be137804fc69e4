"""The pods of an object as CEL sees them: the object itself, its one template, or templates to be looked up.

A *target* stands for the workloads of a rule that one policy serves. For a *single* target the pod is a fixed
expression (`object`, `object.spec.template`). For the others a variable `templates` maps the JSON pointer of
each matching template to the template; comprehensions over it have `path` and `template`.

Selected containers are always a variable that maps the pointer of each container to the container. Maps are
built with `transformMapEntry`, which also flattens templates × containers: `lists.range` and `flatten` are
not there for new policies on every version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policygen.compiler.plan.text import all_of, any_of, bracket, call, optional, pointer, string, ternary
from policygen.compiler.workloads import LIST, MAP, Workload


@dataclass(frozen=True, slots=True)
class Target:
    """Workloads whose pods stand at the same places, and the operations on which they are handled."""

    workloads: tuple[Workload, ...]
    operations: tuple[str, ...]

    @property
    def single(self) -> tuple[str, ...] | None:
        """The steps to the one pod, where its place is fixed."""
        return self.workloads[0].single

    @property
    def is_pod(self) -> bool:
        """Whether the object is the pod."""
        return self.workloads[0].is_pod

    @property
    def custom(self) -> bool:
        """Whether objects keep nulls and empties, as custom kinds do."""
        return not self.workloads[0].builtin

    @property
    def pod(self) -> str:
        """The pod in expressions: fixed, or the comprehension variable `template`."""
        return "template" if self.single is None else ".".join(("object", *self.single))

    @property
    def type_name(self) -> str:
        """The apply configuration type of a single pod."""
        return ".".join(("Object", *(self.single or ())))

    def optional(self, steps: Sequence[str], pod: str | None = None) -> str:
        """An optional value below the pod."""
        return optional(pod or self.pod, steps, sure=self._sure(steps))

    def _sure(self, steps: Sequence[str]) -> int:
        """How many first steps are always there: `spec` of what is typed, and a pod's `metadata`."""
        if self.custom:
            return 0
        return 1 if len(steps) > 1 and (steps[0] == "spec" or self.is_pod) else 0

    def items(self, steps: Sequence[str], base: str | None = None) -> str:
        """A list below the pod, or below `base` when given (a container); absent, null and empty are `[]`."""
        value = self.optional(steps) if base is None else optional(base, steps)
        return self.listed(value)

    def listed(self, value: str) -> str:
        """An optional list as a list."""
        return _safe(value, "[]") if self.custom else f"{value}.orValue([])"

    def absent(self, value: str) -> str:
        """Whether an optional value is absent or null."""
        return f"{value}.orValue(null) == null" if self.custom else f"!{value}.hasValue()"

    def containers(self, pod: str | None = None, *, init: bool = True) -> str:
        """All containers of a pod, init containers among them when asked."""
        base = pod or self.pod
        plain = f"{base}.spec.containers" if not self.custom else self._list(base, "containers")
        return f"({plain} + {self._list(base, 'initContainers')})" if init else plain

    def _list(self, base: str, field: str) -> str:
        return self.listed(self.optional(("spec", field), base))

    # --- lookups over all templates ------------------------------------------------------------------------

    def some_pod(self, holds: Callable[[str], str]) -> str:
        """Whether some pod satisfies a condition; for match conditions, which may not use variables."""
        if self.single is not None:
            return holds(self.pod)
        return any_of(_some(path, holds) for path in self.workloads[0].templates)

    def templates(self, holds: Callable[[str], str]) -> str:
        """The expression of the variable `templates`: pointer → template, where a condition holds."""
        parts = [_entries(path, holds) for path in self.workloads[0].templates]
        if len(parts) == 1:
            return parts[0]
        return union(parts)

    def selection(self, chosen: Callable[[str, str], str], *, init: bool) -> str:
        """The expression of a variable: pointer → container, of those chosen by (container, pod)."""
        if self.single is not None:
            return self._chosen(string(pointer(self.single))[:-1], self.pod, chosen, init)
        inner = self._chosen(None, "template", chosen, init)
        return call("variables.templates", "transformMapEntry", ("path", "template"), inner)

    def _chosen(self, prefix: str | None, pod: str, chosen: Callable[[str, str], str], init: bool) -> str:
        parts = []
        for field in ("containers", "initContainers") if init else ("containers",):
            values = f"{pod}.spec.containers" if field == "containers" and not self.custom else None
            values = values or self._list(pod, field)
            start = f"{prefix}/spec/{field}/'" if prefix is not None else f"path + '/spec/{field}/'"
            condition = chosen("container", pod)
            entry = f"{{{start} + string(index): container}}"
            arguments = [entry] if condition == "true" else [condition, entry]
            parts.append(call(values, "transformMapEntry", ("index", "container"), *arguments))
        return parts[0] if len(parts) == 1 else union(parts)


def _safe(value: str, empty: str) -> str:
    """An optional list or map, where null counts as absent."""
    return f"optional.ofNonZeroValue({value}.orValue(null)).orValue({empty})"


def union(maps: Sequence[str]) -> str:
    """Maps without common keys as one."""
    return f"{bracket('[', maps, ']')}.transformMapEntry(part, entries, entries)"


def _split(path: Sequence[str]) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """The steps before the first list or map, which of them it is, and the steps behind."""
    for index, step in enumerate(path):
        if step in {LIST, MAP}:
            return tuple(path[:index]), step, tuple(path[index + 1 :])
    return tuple(path), None, ()


def _some(path: Sequence[str], holds: Callable[[str], str], base: str = "object", depth: int = 0) -> str:
    before, step, behind = _split(path)
    if step is None:
        pod = ".".join((base, *before))
        present = f"{optional(base, (*before, 'spec'))}.orValue(null) != null"
        return all_of([present, holds(pod)])
    key, item = _names(depth)
    values = _safe(optional(base, before), "[]" if step == LIST else "{}")
    inner = _some(behind, holds, item, depth + 1)
    return call(values, "exists", (item,) if step == LIST else (key, item), inner)


def _entries(
    path: Sequence[str],
    holds: Callable[[str], str],
    base: str = "object",
    prefix: str = "''",
    depth: int = 0,
) -> str:
    before, step, behind = _split(path)
    start = _plus(prefix, pointer(before))
    if step is None:
        condition, entry = _entry(before, holds, base, start)
        return ternary(condition, entry, "{}")
    key, item = _names(depth)
    values = _safe(optional(base, before), "[]" if step == LIST else "{}")
    at = f"string({key})" if step == LIST else f"jsonpatch.escapeKey({key})"
    start = f"{_plus(start, '/')} + {at}"
    last, deeper, _ = _split(behind)
    if deeper is None:
        return call(
            values, "transformMapEntry", (key, item), *_entry(last, holds, item, _plus(start, pointer(last)))
        )
    return call(values, "transformMapEntry", (key, item), _entries(behind, holds, item, start, depth + 1))


def _entry(steps: Sequence[str], holds: Callable[[str], str], base: str, start: str) -> tuple[str, str]:
    """Whether there is a template that satisfies the condition, and its entry."""
    pod = ".".join((base, *steps))
    present = f"{optional(base, (*steps, 'spec'))}.orValue(null) != null"
    return all_of([present, holds(pod)]), f"{{{start}: {pod}}}"


def _plus(prefix: str, more: str) -> str:
    """A string expression and a constant behind it, folded where both are constants."""
    if not more:
        return prefix
    if prefix == "''":
        return string(more)
    if prefix.endswith("'"):
        return prefix[:-1] + more + "'"
    return f"{prefix} + {string(more)}"


def _names(depth: int) -> tuple[str, str]:
    """Names for the position and the value, other ones further inside."""
    return f"key{depth or ''}", f"item{depth or ''}"
