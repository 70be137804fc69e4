"""What resolving `place` and `inject` share: the rule, what it matches by, and what to do on conflict."""

from __future__ import annotations

from dataclasses import dataclass

from policygen.compiler.model_actions import ClaimRef, OnConflict
from policygen.compiler.model_match import Uses
from policygen.compiler.resolve_match import Matching
from policygen.compiler.scope import Scope
from policygen.compiler.spec_rules import FullConflictSpec, RuleSpec


@dataclass(frozen=True, slots=True)
class Acting:
    """Resolves what one rule sets."""

    scope: Scope
    matching: Matching
    rule: RuleSpec
    uses: tuple[Uses, ...]
    """What the rule matches by."""
    claims: dict[str, ClaimRef]
    default_class: str | None

    def conflict(self, field: str, name: str | None = None) -> OnConflict:
        """What to do about a field: the rule's word for it, the rule's default, then the spec's."""
        for spec in (self.rule.on_conflict, self.scope.spec.on_conflict):
            if isinstance(spec, FullConflictSpec):
                own = getattr(spec, field)
                if isinstance(own, dict):
                    own = own.get(name)
                if own is not None:
                    return _conflict_word(own)
                if spec.default is not None:
                    return spec.default
            elif spec is not None:
                return spec
        return "keep"


def _conflict_word(value: object) -> OnConflict:
    match value:
        case "replace":
            return "replace"
        case "reject":
            return "reject"
        case _:
            return "keep"
