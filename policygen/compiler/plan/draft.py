"""What planning one node gives, and how operations of a JSON patch are laid out for a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from policygen.compiler.ir import Origin
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import (
    all_of,
    bracket,
    call,
    indent,
    none_of,
    pointer,
    string,
    ternary,
    wrapped,
)

Form: TypeAlias = Literal["ApplyConfiguration", "JSONPatch"]


@dataclass(frozen=True, slots=True)
class Check:
    """A validation: an expression that must be true, and what to say when it is not."""

    expression: str
    message: str
    origins: tuple[Origin, ...]
    message_expression: str | None = None
    unmutated: str | None = None
    """The same test on an object that no policy has changed, where it differs: for `rollout: observe`."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One planned mutation and what belongs to it."""

    form: Form
    expression: str
    changes: str
    """Whether the mutation would change the object."""
    origins: tuple[Origin, ...]
    rejects: tuple[Check, ...] = ()
    """What an object must satisfy once it is mutated."""
    reports: tuple[Check, ...] = ()
    """What is skipped, to be told and not to be denied."""
    summary: str = ""
    """What is set to which value, where that is short."""

    @property
    def words(self) -> str:
        """What the mutation sets, for people."""
        return self.summary or ", ".join(origin.text for origin in self.origins)


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a JSON patch, at steps below the pod or the container."""

    op: Literal["add", "remove"]
    steps: tuple[str, ...]
    value: str | None = None
    when: str = "true"

    def text(self, start: str) -> str:
        """The `JSONPatch{…}` for a pointer expression of the pod or container."""
        path = start[:-1] + pointer(self.steps) + "'" if start.endswith("'") else None
        path = path or f"{start} + {string(pointer(self.steps))}"
        parts = [f"op: '{self.op}'", f"path: {path}"]
        if self.value is not None:
            parts.append(f"value: {self.value}")
        return bracket("JSONPatch{", parts, "}")


def pod_ops(target: Target, ops: Sequence[Op]) -> list[str]:
    """Operations once per pod, as lists to be concatenated."""
    if target.single is None:
        return [_over("variables.templates", "template", op) for op in ops]
    start = string(pointer(target.single))
    chunks = []
    for when, group in _grouped(ops):
        patches = bracket("[", [op.text(start) for op in group], "]")
        chunks.append(patches if when == "true" else ternary(when, patches, "[]"))
    return chunks


def container_ops(selection: str, ops: Sequence[Op]) -> list[str]:
    """Operations once per container of a selection variable."""
    return [_over(selection, "container", op) for op in ops]


def _over(source: str, item: str, op: Op) -> str:
    arguments = [*([] if op.when == "true" else [op.when]), op.text("path")]
    return call(source, "transformList", ("path", item), *arguments)


def concatenated(chunks: Sequence[str]) -> str:
    """Lists of operations as one."""
    if len(chunks) == 1:
        return chunks[0]
    return "\n+ ".join(_parenthesised(chunk) for chunk in chunks)


def _parenthesised(chunk: str) -> str:
    if wrapped(chunk, ("?",)) == chunk:
        return chunk
    return f"({chunk})" if "\n" not in chunk else f"(\n{indent(chunk)}\n)"


def _grouped(ops: Sequence[Op]) -> list[tuple[str, list[Op]]]:
    """Neighbours with one condition."""
    groups: list[tuple[str, list[Op]]] = []
    for op in ops:
        if groups and groups[-1][0] == op.when:
            groups[-1][1].append(op)
        else:
            groups.append((op.when, [op]))
    return groups


def any_pod(target: Target, condition: str) -> str:
    """Whether a condition on a pod holds for some pod of the object."""
    if target.single is not None or condition == "true":
        return condition
    return call("variables.templates", "exists", ("path", "template"), condition)


def no_pod(target: Target, condition: str) -> str:
    """Whether a condition on a pod holds for no pod of the object."""
    return none_of(any_pod(target, condition))


def any_container(selection: str, condition: str) -> str:
    """Whether a condition holds for some container of a selection variable."""
    if condition == "true":
        return f"{selection}.size() > 0"
    return call(selection, "exists", ("path", "container"), condition)


def parents(target: Target, path: Sequence[str], guard: str) -> list[Op]:
    """Operations that create what must be there before something can be added at a path of the pod.

    Typed objects always have `spec` and `metadata`; of a custom one `metadata` may be absent.
    """
    ops = []
    for length in range(1 if target.custom else 2, len(path)):
        steps = tuple(path[:length])
        if steps == ("spec",):
            continue
        absent = target.absent(target.optional(steps))
        ops.append(Op("add", steps, "{}", all_of([guard, absent])))
    return ops


def container_parents(target: Target, path: Sequence[str]) -> list[Op]:
    """The same below a container; `resources` of a typed one is always there."""
    ops = []
    for length in range(1, len(path)):
        steps = tuple(path[:length])
        if steps == ("resources",) and not target.custom:
            continue
        value = "container" + "".join(f".?{step}" for step in steps)
        ops.append(Op("add", steps, "{}", target.absent(value)))
    return ops


def apply_object(target: Target, path: Sequence[str], value: str, *, keys: int = 0) -> str:
    """The apply configuration that has one value at a path of the pod; the last `keys` steps are map keys."""
    steps = (*(target.single or ()), *path)
    text = value
    for index in range(len(steps) - 1, -1, -1):
        if index >= len(steps) - keys:
            text = bracket("{", [f"{string(steps[index])}: {text}"], "}")
            continue
        type_name = ".".join(("Object", *steps[:index]))
        text = bracket(f"{type_name}{{", [f"{steps[index]}: {text}"], "}")
    return text
