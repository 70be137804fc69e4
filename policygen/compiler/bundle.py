"""What a spec compiles to: manifests, each with the way back from its parts to the spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from policygen.diagnostics import Diagnostic, Span

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
ORIGIN = "policygen.dev/origin"
"""Annotation: the part of the spec that an object comes from, such as `rules/gpu-training`."""

_KINDS = (
    "Namespace",
    "PriorityClass",
    "DeviceClass",
    "ResourceQuota",
    "LimitRange",
    "ResourceClaimTemplate",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)
"""The order of a bundle: what others need comes first, what changes pods comes last."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A part of a manifest and the place in the spec that asked for it."""

    path: tuple[str | int, ...]
    """Keys and indexes from the manifest's top: `("spec", "mutations", 0)`."""
    span: Span = field(compare=False, repr=False)
    text: str
    """What was asked for, in a few words, such as "env `NCCL_DEBUG`"."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a bundle. Origin labels and annotations are added by `emit`."""

    object: dict[str, Any]
    origin: str
    """The part of the spec that it comes from: `rules/gpu-training`, `devices/a100`."""
    span: Span = field(compare=False, repr=False)
    traces: tuple[Trace, ...] = ()

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.object["kind"])

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace, empty for cluster-scoped ones."""
        return str(self.object["metadata"].get("namespace", ""))

    @property
    def sort_key(self) -> tuple[int, str, str, str]:
        """What others need comes first."""
        at = _KINDS.index(self.kind) if self.kind in _KINDS else len(_KINDS)
        return at, self.kind, self.namespace, self.name

    @property
    def file_name(self) -> str:
        """`deviceclass-a100.yaml`, or `resourcequota-team-a-main.yaml` with the namespace before the name."""
        parts = (self.kind.lower(), self.namespace, self.name)
        return "-".join(part.replace(":", "-") for part in parts if part) + ".yaml"


@dataclass(frozen=True, slots=True)
class Bundle:
    """All manifests of one spec, sorted, and what there is to tell about them (no errors)."""

    name: str
    kubernetes: str
    manifests: tuple[Manifest, ...]
    diagnostics: tuple[Diagnostic, ...]

    def objects(self) -> list[dict[str, Any]]:
        """The plain objects in their order."""
        return [manifest.object for manifest in self.manifests]

    def trace(self, kind: str, name: str, path: Iterable[str | int]) -> Trace | None:
        """The place in the spec that asked for a part of a manifest: the closest enclosing trace."""
        wanted = tuple(path)
        for manifest in self.manifests:
            if manifest.kind == kind and manifest.name == name:
                fits = [trace for trace in manifest.traces if wanted[: len(trace.path)] == trace.path]
                return max(fits, key=lambda trace: len(trace.path), default=None)
        return None
