"""The variables of a policy: small named expressions, evaluated on first use and anew for every mutation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from policygen.compiler.ir import Origin


@dataclass(frozen=True, slots=True)
class Variable:
    """A named expression of a policy."""

    name: str
    expression: str
    origins: tuple[Origin, ...]


@dataclass(slots=True)
class Variables:
    """The variables of one policy, in order, each expression once."""

    items: list[Variable] = field(default_factory=list)

    def add(self, name: str, expression: str, origins: Iterable[Origin] = ()) -> str:
        """Name an expression; the reference to it comes back. A taken name gets a number."""
        for index, item in enumerate(self.items):
            if item.expression == expression:
                more = tuple(origin for origin in origins if origin not in item.origins)
                self.items[index] = Variable(item.name, expression, item.origins + more)
                return f"variables.{item.name}"
        taken = {item.name for item in self.items}
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}{number}", number + 1
        self.items.append(Variable(unique, expression, tuple(origins)))
        return f"variables.{unique}"
