"""Variables that hold the containers an action is for."""

from __future__ import annotations

from collections.abc import Iterable

from policygen.compiler.ir import Origin
from policygen.compiler.model_actions import Containers
from policygen.compiler.plan import predicates
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import all_of, call, camel
from policygen.compiler.plan.variables import Variables


def by_path(
    containers: Containers,
    target: Target,
    variables: Variables,
    origins: Iterable[Origin],
    *,
    only: str = "true",
    name: str | None = None,
) -> str:
    """The variable that maps the pointer of each selected container to it. `only` narrows the selection and
    may read `container` and the pod."""

    def chosen(container: str, pod: str) -> str:
        return all_of([predicates.chosen(containers, target, container, pod, variables), only])

    expression = target.selection(chosen, init=containers.init)
    return variables.add(name or f"{named(containers)}ByPath", expression, origins)


def as_list(containers: Containers, target: Target, variables: Variables, origins: Iterable[Origin]) -> str:
    """The selected containers of a single target as a list; the containers themselves when all are meant."""
    test = predicates.chosen(containers, target, "container", target.pod, variables)
    values = f"{target.pod}.spec.containers"
    if test == "true":
        return values
    return variables.add(named(containers), call(values, "filter", ("container",), test), origins)


def named(containers: Containers) -> str:
    """A telling name for a selection."""
    words = [found.subject for found in containers.uses] or list(containers.names or ())
    return camel("-".join(words[:2]) or "all") + "Containers"
