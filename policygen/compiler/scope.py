"""What every part of `resolve` shares: the spec, where diagnostics go, and the checks of single texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from policygen.compiler.model_actions import Json, Toleration
from policygen.compiler.model_match import Requirement
from policygen.compiler.places import Text
from policygen.compiler.spec import BodySpec
from policygen.compiler.spec_base import Block
from policygen.compiler.spec_match import LabelTest, LabelTestSpec
from policygen.compiler.spec_rules import FullTolerationSpec
from policygen.compiler.units import UnitError, parse_amount, parse_quantity, parse_toleration
from policygen.compiler.yaml import Mapping, Node, Scalar, Sequence
from policygen.diagnostics import Diagnostics, Label, Span, suggestion
from policygen.kube import names, versions
from policygen.kube.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Scope:
    """The spec that is being resolved."""

    spec: BodySpec
    found: Diagnostics

    @property
    def version(self) -> str:
        """The version of the cluster."""
        return self.spec.kubernetes

    def since(self, version: str) -> bool:
        """Whether the cluster has at least this version."""
        return versions.at_least(self.version, version)

    def has(self, feature: str) -> bool:
        """Whether a feature gate is on in a stock cluster of the version."""
        return versions.enabled(feature, self.version)

    def requires(self, feature: str, subject: str, span: Span) -> None:
        """Something that only a feature gate gives."""
        missing = versions.feature_missing(feature, self.version)
        since = versions.enabled_since(feature)
        if missing is not None and since is not None:
            self.needs(since, subject, span, [missing])

    def name(self, rule: Callable[[str], list[str]], text: str, span: Span, noun: str) -> str:
        """A name that must obey one of Kubernetes' rules for names."""
        broken = rule(text)
        if broken:
            notes = [f"the API server would say: {line}" for line in broken[:1]]
            help = [f"write `{fixed}`"] if (fixed := _lowered(text)) != text and not rule(fixed) else []
            if "*" in text:
                help = ["names have no wildcards: list them, or select by labels"]
            self.found.error("bad-name", f"`{text}` cannot be {noun}", span, notes=notes, help=help)
        return text

    def labels(self, block: Block, field: str, values: dict[str, str]) -> tuple[tuple[str, str], ...]:
        """Labels that are set, sorted by key."""
        for key, value in values.items():
            self.name(names.qualified_name, key, block.key_span_at(field, key), "a label key")
            self.name(names.label_value, value, block.span_at(field, key), "a label value")
        return tuple(sorted(values.items()))

    def annotations(self, block: Block, field: str, values: dict[str, str]) -> tuple[tuple[str, str], ...]:
        """Annotations that are set, sorted by key."""
        for key in values:
            self.name(
                lambda text: names.qualified_name(text.lower()),
                key,
                block.key_span_at(field, key),
                "an annotation key",
            )
        return tuple(sorted(values.items()))

    def one_of(self, word: str, known: Iterable[str], span: Span, noun: str, section: str) -> bool:
        """Whether a name is declared in a section; a diagnostic says so when it is not."""
        candidates = list(known)
        if word in candidates:
            return True
        close = suggestion(word, candidates)
        help = [f"did you mean `{close}`?"] if close else []
        if not close:
            listed = ", ".join(f"`{name}`" for name in sorted(candidates)[:10])
            help = [f"declared are {listed}"] if listed else [f"declare it under `spec.{section}`"]
        self.found.error(
            "undeclared-name", f"{noun} `{word}` is not declared", span, f"no such {noun}", help=help
        )
        return False

    def quantity(self, text: Text, subject: str) -> str:
        """A quantity in its canonical form."""
        return self._parsed(parse_quantity, text, subject)

    def amount(self, text: Text, resource: str, key: str = "") -> str:
        """A quantity of a resource in its canonical form; `key` is what the spec calls it."""
        return self._parsed(lambda value: parse_amount(resource, value), text, key or resource)

    def _parsed(self, parse: Callable[[str], Quantity], text: Text, subject: str) -> str:
        try:
            return str(parse(text.value))
        except UnitError as error:
            help = [error.help] if error.help else []
            self.found.error("bad-quantity", f"`{subject}`: {error.message}", text.span, help=help)
            return "0"

    def extended_resource(self, resource: str, span: Span) -> None:
        """An extended resource has a domain, which is not Kubernetes' own."""
        self.name(names.qualified_name, resource, span, "an extended resource")
        domain, slash, _ = resource.partition("/")
        if not slash or domain.endswith("kubernetes.io") or resource.startswith("requests."):
            self.found.error(
                "bad-name",
                f"`{resource}` cannot be an extended resource",
                span,
                help=["write `domain/name` with a domain that is not Kubernetes' own: `nvidia.com/gpu`"],
            )

    def amounts(self, block: Block, path: str, *, units: bool = True) -> tuple[tuple[str, str], ...]:
        """Resource -> quantity, sorted by resource; with `units`, each in a unit that fits the resource."""
        node = block.node_at(path)
        if not isinstance(node, Mapping):
            return ()
        parse = self.amount if units else self.quantity
        pairs = []
        for entry in node.entries:
            self.name(names.qualified_name, entry.key.text, entry.key.span, "a resource name")
            if isinstance(entry.value, Scalar):
                text = block.text_at(path, entry.key.text)
                pairs.append((entry.key.text, parse(text, entry.key.text)))
        return tuple(sorted(pairs))

    def toleration(self, value: str | FullTolerationSpec, span: Span) -> Toleration | None:
        """A toleration in either of its forms."""
        if isinstance(value, str):
            try:
                result = parse_toleration(value)
            except UnitError as error:
                self.found.error(
                    "bad-toleration", error.message, span, help=[error.help] if error.help else []
                )
                return None
        else:
            operator = value.operator or ("Exists" if value.value is None else "Equal")
            result = Toleration(value.key, operator, value.value, value.effect, value.seconds)
        fault = _toleration_fault(result)
        if fault:
            self.found.error("bad-toleration", fault, span)
            return None
        if result.key is not None:
            self.name(names.qualified_name, result.key, span, "a taint key")
        return result

    def needs(self, version: str, subject: str, span: Span, notes: Iterable[str] = ()) -> None:
        """Something that the cluster's version lacks."""
        self.found.error(
            "needs-newer-kubernetes",
            f"{subject} needs Kubernetes {version}; this spec is for {self.version}",
            span,
            notes=notes,
            help=[f'set `kubernetes: "{version}"` once the cluster has that version'],
        )

    def requirements(self, block: Block, field: str, tests: dict[str, LabelTest]) -> tuple[Requirement, ...]:
        """Tests of labels, sorted by key."""
        result: list[Requirement] = []
        for key, test in sorted(tests.items()):
            span = block.key_span_at(field, key)
            self.name(names.qualified_name, key, span, "a label key")
            result += self._requirement(key, test, span, block.span_at(field, key))
        return tuple(result)

    def _requirement(self, key: str, test: LabelTest, span: Span, value_span: Span) -> list[Requirement]:
        if isinstance(test, str):
            test = [test]
        if isinstance(test, list):
            self._label_values(test, value_span)
            return [Requirement(key, "In", tuple(sorted(test)), span)]
        assert isinstance(test, LabelTestSpec)
        result = []
        if test.in_ is not None:
            self._label_values(test.in_, value_span)
            result.append(Requirement(key, "In", tuple(sorted(test.in_)), span))
        if test.not_in is not None:
            self._label_values(test.not_in, value_span)
            result.append(Requirement(key, "NotIn", tuple(sorted(test.not_in)), span))
        if test.exists is not None:
            result.append(Requirement(key, "Exists" if test.exists else "DoesNotExist", (), span))
        if test.in_ and (test.exists is False or set(test.in_) <= set(test.not_in or ())):
            self.found.error("empty-test", f"the tests of `{key}` exclude each other", span)
        if not result:
            self.found.error(
                "empty-test",
                f"the test of `{key}` says nothing",
                span,
                help=["use `in`, `notIn` or `exists`"],
            )
        return result

    def _label_values(self, values: list[str], span: Span) -> None:
        if not values:
            self.found.error("empty-value", "a list of values must not be empty", span)
        for value in values:
            self.name(names.label_value, value, span, "a label value")

    def json(self, node: Node | None) -> Json:
        """A value that is passed on to Kubernetes as it is."""
        match node:
            case None:
                return None
            case Scalar(value=value):
                return value
            case Sequence(items=items):
                return [self.json(item) for item in items]
            case Mapping(entries=entries):
                return {
                    entry.key.text: self.json(entry.value)
                    for entry in sorted(entries, key=lambda entry: entry.key.text)
                }

    def duplicate(self, noun: str, name: str, span: Span, first: Span) -> None:
        """Something that is named twice."""
        self.found.error(
            "duplicate-name",
            f"{noun} `{name}` is declared twice",
            span,
            "again here",
            related=[Label(first, "first declared here")],
        )


def _lowered(text: str) -> str:
    return text.strip().lower().replace("_", "-").replace(" ", "-")


def _toleration_fault(toleration: Toleration) -> str | None:
    """What `ValidateTolerations` (`core/validation`) refuses."""
    if toleration.key is None and toleration.operator != "Exists":
        return "a toleration without a key tolerates every taint, and needs the operator `Exists`"
    if toleration.operator == "Exists" and toleration.value is not None:
        return "a toleration with the operator `Exists` has no value"
    if toleration.seconds is not None and toleration.effect != "NoExecute":
        return "`seconds` goes with the effect `NoExecute` only"
    return None
