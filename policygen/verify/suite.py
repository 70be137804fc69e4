"""A suite file as data: what is tried and what is expected, every part with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from policygen.admission.request import Operation, UserInfo
from policygen.diagnostics import Diagnostic, Diagnostics, Span, make, suggestion
from policygen.kube import reader
from policygen.kube.catalog import SUPPORTED
from policygen.kube.names import CLUSTER_SCOPED
from policygen.kube.reader import Document
from policygen.verify import paths
from policygen.verify.shape import Check
from policygen.verify.sources import Fixtures, Located, entries, expand, is_suite, is_usable, objects
from policygen.verify.suite_shape import KIND, SUITE

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """What stands at a path of the result; None = nothing."""

    text: str
    steps: tuple[paths.Step, ...]
    value: Any
    span: Span = field(compare=False, repr=False)
    path_span: Span = field(compare=False, repr=False)
    """The place of the path itself."""


@dataclass(frozen=True, slots=True)
class Expect:
    """What must be true of the answer. None = nothing is said."""

    matched: tuple[str, ...] | None = None
    changed: tuple[str, ...] | None = None
    unchanged: bool | None = None
    allowed: bool | None = None
    denied: str | None = None
    values: tuple[ExpectedValue, ...] = ()
    warnings: tuple[str, ...] | None = None
    golden: Path | None = None
    devices: Mapping[str, tuple[str, ...]] | None = None
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    """Place of each key, and of each name below `matched` and `changed` as `matched.NAME`."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is expected at all."""
        said = (self.matched, self.changed, self.unchanged, self.allowed, self.denied, self.warnings)
        return all(part is None for part in (*said, self.golden, self.devices)) and not self.values


@dataclass(frozen=True, slots=True)
class Case:
    """One request with what is expected of its answer."""

    name: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None
    operation: Operation
    subresource: str
    user: UserInfo
    cluster: tuple[Located, ...]
    expect: Expect
    span: Span = field(compare=False, repr=False)
    faults: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    """What of it could not be read; it is reported with the suite, and the case does not pass."""


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Policies of a suite: a spec or manifests in a file or folder, or an object written in place."""

    path: Path | None
    object: Located | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite file."""

    name: str
    path: Path
    versions: tuple[str, ...]
    """Empty: those of the policies."""
    policies: tuple[PolicySource, ...]
    cluster: tuple[Located, ...]
    fixtures: Fixtures
    inventory: tuple[Located, ...]
    authorizer: Mapping[str, bool] | None
    plugins: tuple[str, ...]
    cost_share: int
    cases: tuple[Case, ...]
    namespace: str | None
    """Namespace of objects that name none."""
    document: Document = field(compare=False, repr=False)

    def placed(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A fixture in the suite's namespace, unless it has one of its own or cannot have any."""
        if str(obj.get("kind")) in CLUSTER_SCOPED:
            return obj
        return _in_namespace(obj, self.namespace, forced=False) or obj


def load(path: Path, found: Diagnostics) -> Suite | None:
    """Read a suite file; faults are reported and None is returned where they leave nothing to run."""
    documents = list(reader.read_path(path, found))
    if found.has_errors:
        return None
    if len(documents) != 1 or documents[0].value.get("kind") != KIND:
        span = documents[-1].span() if documents else None
        found.error("suite-kind", f"`{path}` must hold exactly one document of kind `{KIND}`", span)
        return None
    document = documents[0]
    before = len(found.items)
    Check(document, found, "a suite").check(SUITE, document.value)
    if len(found.items) > before:
        return None
    return _Loader(document, path, found).suite()


@dataclass(slots=True)
class _Loader:
    document: Document
    path: Path
    found: Diagnostics
    _faults: list[Diagnostic] = field(default_factory=list)
    """Of the case that is being read."""

    def suite(self) -> Suite:
        value = self.document.value
        fixtures = Fixtures(tuple(self._objects("fixtures")))
        if "fixtures" in value and not fixtures.all:
            self.found.error(
                "suite-no-fixtures", "the suite's fixtures hold no object", self._span("fixtures")
            )
        if not value["cases"]:
            self.found.error("suite-no-cases", "a suite without a case proves nothing", self._span("cases"))
        policies = tuple(self._policies())
        if not policies and not self.found.has_errors:
            self.found.error(
                "suite-no-policies", "the suite has no policies to verify", self._span("policies")
            )
        self._check_authorizer()
        cases = tuple(self._cases(fixtures))
        names: dict[str, Case] = {}
        for case in cases:
            if case.name in names:
                self.found.error("suite-duplicate-case", f"two cases are called `{case.name}`", case.span)
            names[case.name] = case
        return Suite(
            name=(value.get("metadata") or {}).get("name") or _name_of(self.path),
            path=self.path,
            versions=self._versions(),
            policies=policies,
            cluster=tuple(self._objects("cluster")),
            fixtures=fixtures,
            inventory=tuple(self._objects("inventory")),
            authorizer=value.get("authorizer"),
            plugins=tuple(value.get("plugins", ())),
            cost_share=(value.get("limits") or {}).get("cost", 50),
            cases=cases,
            namespace=value.get("namespace"),
            document=self.document,
        )

    def _span(self, *path: str | int) -> Span:
        return self.document.span(path)

    def _objects(self, *path: str | int) -> Iterator[Located]:
        return objects(self.document, path, self.path.parent, self.found)

    def _versions(self) -> tuple[str, ...]:
        versions = _many(self.document.value.get("kubernetes"))
        for version in versions:
            if version not in SUPPORTED:
                near = suggestion(version, SUPPORTED)
                self.found.error(
                    "suite-value",
                    f"Kubernetes `{version}` is not supported",
                    self._span("kubernetes"),
                    "one of " + ", ".join(f"`{known}`" for known in SUPPORTED),
                    help=[f'did you mean "{near}"?'] if near else [],
                )
        return tuple(version for version in versions if version in SUPPORTED)

    def _check_authorizer(self) -> None:
        """A key of another form would never be asked for."""
        for key in self.document.value.get("authorizer") or {}:
            if key.count("|") not in (2, 6):
                self.found.error(
                    "suite-value",
                    f"`{key}` is no question to the authorizer",
                    self.document.key_span(("authorizer", key)),
                    help=[
                        "write `user|verb|group|resource|subresource|namespace|name`, "
                        "where parts may be empty, or `user|verb|/path`"
                    ],
                )

    def _policies(self) -> Iterator[PolicySource]:
        for entry, span in entries(self.document, ("policies",)):
            if isinstance(entry, dict):
                yield PolicySource(None, Located(entry, span), span)
            else:
                for path in expand(entry, self.path.parent, span, self.found):
                    if not is_suite(path):
                        yield PolicySource(path, None, span)

    def _cases(self, fixtures: Fixtures) -> Iterator[Case]:
        for index, raw in enumerate(self.document.value["cases"]):
            path: _Path = ("cases", index)
            if "each" not in raw:
                yield from self._case(raw, path, (), fixtures)
                continue
            if not raw["each"]:
                self.found.error("suite-no-cases", "`each` has no variant", self._span(*path, "each"))
            for number, variant in enumerate(raw["each"]):
                yield from self._case(raw, path, (variant, (*path, "each", number)), fixtures)

    def _case(
        self,
        raw: dict[str, Any],
        path: _Path,
        variant: tuple[()] | tuple[dict[str, Any], _Path],
        fixtures: Fixtures,
    ) -> Iterator[Case]:
        """One case; a variant's keys win, its `set`, `remove` and `expect` come on top of the case's."""
        self._faults = []
        layers = [(raw, path), variant] if variant else [(raw, path)]
        top: dict[str, tuple[Any, _Path]] = {}
        for layer, at in layers:
            for key, item in layer.items():
                top[key] = (item, (*at, key))
        name = " / ".join(layer["name"] for layer, _ in layers)
        span = self._span(*layers[-1][1])
        expect = self._expect(
            [(layer["expect"], (*at, "expect")) for layer, at in layers if "expect" in layer]
        )
        if expect.is_empty and not self._faults:
            self.found.error(
                "suite-no-expectation",
                f"case `{name}` expects nothing, so it cannot fail",
                span,
                help=["add `expect`, with `matched`, `values`, `denied` or `unchanged: true`"],
            )
        obj = self._object(top.get("object"), fixtures)
        old = self._object(top.get("oldObject"), fixtures)
        if not self._check_operation(top, name, span):
            return
        operation = top.get("operation", ("UPDATE" if old is not None else "CREATE", ()))[0]
        if obj is None and operation != "DELETE":
            if "object" not in top:
                self.found.error("suite-value", f"case `{name}` has no `object`", span)
            return
        for layer, at in layers:
            obj = self._changed(obj, layer, at)
        namespace = top["namespace"][0] if "namespace" in top else self.document.value.get("namespace")
        yield Case(
            name=name,
            object=_in_namespace(obj, namespace, forced="namespace" in top),
            old_object=_in_namespace(old, namespace, forced="namespace" in top),
            operation=cast("Operation", operation),
            subresource=top.get("subresource", ("", ()))[0],
            user=_user(top["user"][0] if "user" in top else self.document.value.get("user")),
            cluster=tuple(self._objects(*top["cluster"][1])) if "cluster" in top else (),
            expect=expect,
            span=span,
            faults=tuple(self._faults),
        )

    def _check_operation(self, top: dict[str, tuple[Any, _Path]], name: str, span: Span) -> bool:
        """An operation with objects that it cannot have would be another request than was meant."""
        operation = top.get("operation", ("", ()))[0]
        if operation == "UPDATE" and "oldObject" not in top:
            self.found.error(
                "suite-value",
                f"case `{name}` is an UPDATE without `oldObject`",
                span,
                help=["add the object as it is stored; `object` is how it shall be"],
            )
            return False
        if operation == "CREATE" and "oldObject" in top:
            self.found.error("suite-value", f"case `{name}` is a CREATE, which has no `oldObject`", span)
            return False
        return True

    def _object(self, entry: tuple[Any, _Path] | None, fixtures: Fixtures) -> dict[str, Any] | None:
        if entry is None:
            return None
        value, path = entry
        if isinstance(value, dict):
            return value if is_usable(value, self._span(*path), self.found) else None
        found = fixtures.find(value, self._span(*path), self.found)
        return None if found is None else found.value

    def _changed(self, obj: dict[str, Any] | None, layer: dict[str, Any], at: _Path) -> dict[str, Any] | None:
        if obj is None:
            return None
        listed = isinstance(layer.get("remove"), list)
        for index, text in enumerate(_many(layer.get("remove"))):
            place: _Path = (*at, "remove", index) if listed else (*at, "remove")
            steps = self._steps(text, place)
            if steps:
                if paths.get(obj, steps) is paths.ABSENT:
                    message = f"`{text}` is not in the object, so nothing can be removed"
                    self._fault(make("error", "suite-path", message, self._span(*place)))
                obj = paths.remove(obj, steps)
        for text, value in (layer.get("set") or {}).items():
            steps = self._steps(text, (*at, "set", text))
            if steps:
                obj = paths.put(obj, steps, value)
        return obj

    def _steps(self, text: str, at: _Path) -> tuple[paths.Step, ...]:
        try:
            return paths.parse(text)
        except paths.PathError as error:
            message, help = f"`{text}` is not a path: {error}", [error.hint] if error.hint else []
            self._fault(make("error", "suite-path", message, self.document.key_span(at), help=help))
            return ()

    def _fault(self, diagnostic: Diagnostic) -> None:
        """A fault that keeps a case from being what was meant: it cannot pass."""
        self.found.add(diagnostic)
        self._faults.append(diagnostic)

    def _expect(self, layers: list[tuple[dict[str, Any], _Path]]) -> Expect:
        merged: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        values: dict[str, ExpectedValue] = {}
        for raw, path in layers:
            for key, item in raw.items():
                spans[key] = self._span(*path, key)
                merged[key] = item
                if key in ("matched", "changed"):
                    for index, name in enumerate(_many(item)):
                        spans[f"{key}.{name}"] = self._span(*path, key, index)
            for text, value in (raw.get("values") or {}).items():
                steps = self._steps(text, (*path, "values", text))
                if steps:
                    place = (*path, "values", text)
                    values[text] = ExpectedValue(
                        text, steps, value, self._span(*place), self.document.key_span(place)
                    )
        devices = merged.get("devices")
        return Expect(
            matched=_many(merged["matched"]) if "matched" in merged else None,
            changed=_many(merged["changed"]) if "changed" in merged else None,
            unchanged=merged.get("unchanged"),
            allowed=merged.get("allowed"),
            denied=merged.get("denied"),
            values=tuple(values.values()),
            warnings=tuple(merged["warnings"]) if "warnings" in merged else None,
            golden=self.path.parent / merged["golden"] if "golden" in merged else None,
            devices=None if devices is None else {name: tuple(chosen) for name, chosen in devices.items()},
            spans=spans,
        )


def _name_of(path: Path) -> str:
    """The folder's name for `suite.yaml`, else the file's own."""
    if path.name == "suite.yaml":
        return path.resolve().parent.name
    return path.name.removesuffix(".suite.yaml")


def _many(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def _user(raw: dict[str, Any] | None) -> UserInfo:
    if raw is None:
        return UserInfo()
    return UserInfo(
        username=raw["username"],
        groups=tuple(raw.get("groups", ())),
        uid=raw.get("uid", ""),
        extra={key: tuple(values) for key, values in (raw.get("extra") or {}).items()},
    )


def _in_namespace(
    obj: dict[str, Any] | None, namespace: str | None, *, forced: bool
) -> dict[str, Any] | None:
    """The object in the suite's or case's namespace; its own stays unless the case names one."""
    if obj is None or namespace is None:
        return obj
    metadata = obj.get("metadata") or {}
    if metadata.get("namespace") and not forced:
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}
