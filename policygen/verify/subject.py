"""What is verified: the manifests of a bundle, and the way back from a policy to the spec's rule and line.

A subject is a spec, which is compiled here, or manifests that somebody else wrote. Specs of several folders
are several bundles of one subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policygen.admission.policy import POLICY_KINDS, BoundPolicy, bind, is_policy_object
from policygen.compiler.recognise import is_spec_file
from policygen.diagnostics import Diagnostics, PolicygenError, Span
from policygen.kube import reader
from policygen.kube.catalog import RECORDED
from policygen.verify.sources import Located, is_suite

if TYPE_CHECKING:
    from policygen.compiler.bundle import Bundle

_RULE_PREFIX = "rules/"


@dataclass(frozen=True)
class Subject:
    """Manifests with their places, for one Kubernetes version."""

    version: str
    manifests: tuple[Located, ...]
    bundles: tuple[Bundle, ...] = ()
    """Those of `manifests` that were compiled from specs, with their traces."""
    specs: tuple[tuple[Path, ...], ...] = field(default=(), compare=False)
    """The files that each bundle was compiled from."""
    overridden: bool = False
    """Whether another Kubernetes version was asked for than the specs say."""

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The plain objects."""
        return [item.value for item in self.manifests]

    @cached_property
    def policies(self) -> tuple[Located, ...]:
        """Mutating and validating policies."""
        return tuple(item for item in self.manifests if item.value.get("kind") in POLICY_KINDS)

    @cached_property
    def bound(self) -> tuple[tuple[BoundPolicy, ...], tuple[BoundPolicy, ...]]:
        """The policies with their bindings, mutating and validating ones, read once for all servers."""
        objects = [obj for obj in self.objects if is_policy_object(obj)]
        return bind(objects, mutating=True), bind(objects, mutating=False)

    @cached_property
    def _origins(self) -> dict[str, tuple[str, Span]]:
        found = {item.name: (item.name, item.span) for item in self.policies}
        for bundle in self.bundles:
            for manifest in bundle.manifests:
                if manifest.kind in POLICY_KINDS:
                    found[manifest.name] = (manifest.origin.removeprefix(_RULE_PREFIX), manifest.span)
        return found

    def rule_of(self, policy: str) -> str:
        """The rule that a policy was made for; its own name when nobody compiled it."""
        return self._origins.get(policy, (policy, None))[0]

    def span_of(self, policy: str, path: Iterable[str | int] = ()) -> Span | None:
        """The place in the spec (or manifest) that asked for a part of a policy."""
        for bundle in self.bundles:
            for kind in POLICY_KINDS:
                trace = bundle.trace(kind, policy, path)
                if trace is not None:
                    return trace.span
        return self._origins.get(policy, (policy, None))[1]

    def place_of(self, policy: str, path: Iterable[str | int]) -> Span | None:
        """The place of a part of a policy: in the spec, or in the manifest where nobody compiled it."""
        steps = tuple(path)
        for item in self.policies:
            if item.name == policy and item.document is not None:
                return item.at(steps)
        return self.span_of(policy, steps)

    def rule_span(self, rule: str) -> Span | None:
        """The place of a rule, or of a policy, by the name that a suite uses for it."""
        for name, (origin, span) in self._origins.items():
            if rule in (origin, name):
                return span
        return None

    @cached_property
    def names(self) -> frozenset[str]:
        """Rules and policies, as suites may name them."""
        return frozenset(self._origins) | {origin for origin, _ in self._origins.values()}


def load(
    paths: Sequence[Path], found: Diagnostics, *, inline: Sequence[Located] = (), version: str | None = None
) -> Subject | None:
    """The subject in some files and folders; None when something is wrong, which is then in `found`.

    A folder with specs is one bundle; so are specs that are named one by one and stand in the same folder.
    The manifests that `build` wrote beside a spec are not read: they are what the spec compiles to.
    """
    specs: dict[Path, list[Path]] = {}
    manifests = list(inline)
    for path in paths:
        for file in _files(path, found):
            documents = list(reader.read_path(file, found)) if not is_spec_file(file) else None
            if documents is None:
                specs.setdefault(file.parent, []).append(file)
            else:
                manifests += [Located(document.value, document.span(), document) for document in documents]
    bundles = []
    for files in specs.values():
        bundle = _compile(files, found, version)
        if bundle is not None:
            bundles.append(bundle)
            manifests += [Located(manifest.object, manifest.span) for manifest in bundle.manifests]
    if found.has_errors:
        return None
    versions = {bundle.kubernetes for bundle in bundles}
    if len(versions) > 1:
        listed = ", ".join(sorted(versions))
        found.error(
            "verify-versions",
            f"the specs are for different Kubernetes versions: {listed}",
            help=["verify them one by one, or choose one version with `--kubernetes`"],
        )
        return None
    read = tuple(tuple(group) for group in specs.values())
    chosen = version or next(iter(versions), RECORDED)
    return Subject(chosen, tuple(manifests), tuple(bundles), read, overridden=version is not None)


def _files(path: Path, found: Diagnostics) -> list[Path]:
    """A file itself; of a folder its specs, or else its manifests."""
    if not path.is_dir():
        return [path]
    inside = [
        entry for entry in sorted(path.iterdir()) if entry.suffix in reader.SUFFIXES and entry.is_file()
    ]
    specs = [entry for entry in inside if is_spec_file(entry)]
    if not inside:
        found.error("manifest-not-found", f"directory `{path}` has no .yaml, .yml or .json file")
    return specs or [entry for entry in inside if entry.name != "kustomization.yaml" and not is_suite(entry)]


def holds_policies(folder: Path) -> bool:
    """Whether a folder itself holds specs or manifests."""
    return any(entry.suffix in reader.SUFFIXES and entry.is_file() for entry in folder.iterdir())


def is_worth(folder: Path) -> bool:
    """Whether a folder holds specs or a suite: what lies beside examples (fixtures, docs) does not."""
    inside = [entry for entry in folder.iterdir() if entry.suffix in reader.SUFFIXES and entry.is_file()]
    return any(is_suite(entry) or is_spec_file(entry) for entry in inside)


def _compile(files: Sequence[Path], found: Diagnostics, version: str | None) -> Bundle | None:
    from policygen.compiler import compile_spec

    try:
        bundle = compile_spec(files, kubernetes=version)
    except PolicygenError as error:
        found.extend(error.diagnostics)
        return None
    found.extend(bundle.diagnostics)
    return bundle
