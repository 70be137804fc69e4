"""Which type fits where, with type parameters: cel-go `checker/types.go`.

A substitution maps parameters to what they stand for. The public methods either succeed and keep what they
learned, or fail and leave the substitution as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from policygen.cel.types import DYN, Type, has_params, type_of

_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})
_PARAMETRIC = frozenset({"opaque", "list", "map", "type"})


def is_equal_or_less_specific(left: Type, right: Type) -> bool:
    """Whether the first type equals the second, or says less because it has `dyn` in its place."""
    if left.kind in {"dyn", "any", "param"}:
        return True
    if right.kind in {"dyn", "any", "param"} or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind in {"opaque", "list", "map"}:
        return (
            left.name == right.name
            and len(left.params) == len(right.params)
            and all(map(is_equal_or_less_specific, left.params, right.params))
        )
    return left == right


def most_general(left: Type, right: Type) -> Type:
    """The more general of two types that unify; null is the less general of null and what may be null."""
    if right.kind == "null" and left.kind in _NULLABLE:
        return left
    return left if is_equal_or_less_specific(left, right) else right


class Substitution:
    """What type parameters stand for while one expression is checked."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._changes: list[tuple[Type, Type | None]] = []
        """What was bound, and to what before, since the last attempt began."""
        self._count = 0

    def fresh(self) -> Type:
        """A new type parameter."""
        made = Type("param", f"_var{self._count}")
        self._count += 1
        return made

    def apply(self, checked: Type, *, to_dyn: bool = False) -> Type:
        """The type with what is known put in; unknown parameters become `dyn` on request."""
        kind = checked.kind
        if kind == "param":
            known = self._bound.get(checked)
            if known is not None:
                return self.apply(known, to_dyn=to_dyn)
            return DYN if to_dyn else checked
        if not checked.params or kind not in _PARAMETRIC:
            return checked
        params = tuple(self.apply(inner, to_dyn=to_dyn) for inner in checked.params)
        if kind == "type":
            return type_of(params[0])
        if all(made is before for made, before in zip(params, checked.params, strict=True)):
            return checked
        return Type(kind, checked.name, params)

    def unify(self, left: Type, right: Type) -> bool:
        """Whether the first is assignable to the second."""
        if left == right and not has_params(left):
            return True
        return self._kept(self._assignable(left, right))

    def unify_all(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        """Whether each of the first is assignable to its partner."""
        if len(left) != len(right):
            return False
        return self._kept(all(map(self._assignable, left, right)))

    def _kept(self, success: bool) -> bool:
        """Keep what an attempt has bound, or take it back."""
        if not success:
            for param, before in reversed(self._changes):
                if before is None:
                    del self._bound[param]
                else:
                    self._bound[param] = before
        self._changes.clear()
        return success

    def _bind(self, param: Type, meaning: Type) -> None:
        self._changes.append((param, self._bound.get(param)))
        self._bound[param] = meaning

    def _assignable(self, left: Type, right: Type) -> bool:
        if right.kind == "param":
            valid, known = self._substitutes(left, right)
            if valid or known:
                return valid
        if left.kind == "param":
            return self._substitutes(right, left)[0]
        if left.is_dyn or right.is_dyn:
            return True
        if left.kind == "null" or right.kind == "null":
            other = right if left.kind == "null" else left
            return other.kind in _NULLABLE or other.kind in {"null", "wrapper"}
        if left.kind == "type":
            return right.kind == "type"
        if left.kind in {"opaque", "list", "map"}:
            return (
                left.kind == right.kind
                and left.name == right.name
                and len(left.params) == len(right.params)
                and all(map(self._assignable, left.params, right.params))
            )
        return _same_scalar(left, right)

    def _substitutes(self, left: Type, right: Type) -> tuple[bool, bool]:
        """Whether the parameter `right` may stand for `left`, and whether it stood for something before."""
        if left == right:
            return True, True
        known = self._bound.get(right)
        if known is None:
            if self._occurs(right, left):
                return False, False
            self._bind(right, left)
            return True, False
        if left == known:
            return True, True
        if not self._assignable(left, known):
            return False, True
        general = most_general(left, known)
        if not self._occurs(right, general):
            self._bind(right, general)
        return True, True

    def _occurs(self, searched: Type, within: Type) -> bool:
        if searched == within:
            return True
        if within.kind == "param":
            known = self._bound.get(within)
            return known is not None and self._occurs(searched, known)
        return within.kind in {"opaque", "list", "map"} and any(
            self._occurs(searched, inner) for inner in within.params
        )


def _same_scalar(left: Type, right: Type) -> bool:
    if right.kind == "wrapper":
        right = right.params[0]
    if left.kind == "wrapper":
        left = left.params[0]
    return left == right
