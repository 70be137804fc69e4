"""Changes of an object in plain words, for people who did not write the policies.

A table of places that people know by a name, and a sentence for each; any other place is named by its path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policygen.merge.diff import Change
from policygen.verify import terms

_LONGEST: Final = 160
_THEREFORE: Final = "so "
"""How sentences begin that say what follows from another change; they come last."""


@dataclass(frozen=True, slots=True)
class Said:
    """One change as a sentence, with the change."""

    text: str
    change: Change


def say(changes: list[Change]) -> list[Said]:
    """One sentence a change; a list or a map that is added whole is told item by item."""
    told = [Said(sentence(item), item) for change in changes for item in _parts(change)]
    return sorted(told, key=lambda said: said.text.startswith(_THEREFORE))


def sentence(change: Change) -> str:
    """What a change does, beginning with a verb."""
    for pattern, tell in _SENTENCES:
        match = pattern.fullmatch(change.path)
        if match is not None:
            said = tell(match, change)
            if said:
                return said
    shown = value(change.after)
    match change.op:
        case "add":
            return f"sets `{change.path}` to {shown}"
        case "remove":
            return f"removes `{change.path}`, which was {value(change.before)}"
        case "replace":
            return f"changes `{change.path}` from {value(change.before)} to {shown}"


def value(item: Any) -> str:
    """A value in a sentence."""
    text = json.dumps(item, ensure_ascii=False, default=str)
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"


_LISTS: Final = ("env", "tolerations", "volumes", "volumeMounts", "resourceClaims", "claims")
_LISTS_OF_TERMS: Final = (
    "topologySpreadConstraints",
    "schedulingGates",
    "imagePullSecrets",
    "nodeSelectorTerms",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_MAPS: Final = ("labels", "annotations", "nodeSelector", "limits", "requests", "securityContext", "metadata")
_AFFINITY: Final = ("affinity", "nodeAffinity", "podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_OPEN: Final = frozenset({*_MAPS, *_AFFINITY, _REQUIRED, "resources"})


def _parts(change: Change) -> Iterator[Change]:
    """The items of a list or map that people know one by one, the change itself otherwise."""
    last = change.path.rpartition(".")[2]
    whole = change.after if change.op == "add" else change.before
    if change.op == "replace" or not whole:
        yield change
    elif last in (*_LISTS, *_LISTS_OF_TERMS, _REQUIRED) and isinstance(whole, list):
        for index, item in enumerate(whole):
            name = item.get("name") if isinstance(item, dict) else None
            step = f'[name="{name}"]' if isinstance(name, str) else f"[{index}]"
            yield _part(change, change.path + step, item)
    elif last in _OPEN and isinstance(whole, dict):
        for key, item in whole.items():
            plain = re.fullmatch(r"[\w-]+", key) is not None
            path = f"{change.path}.{key}" if plain else f'{change.path}["{key}"]'
            yield from _parts(_part(change, path, item))
    else:
        yield change


def _part(change: Change, path: str, item: Any) -> Change:
    if change.op == "add":
        return Change("add", change.steps, path, after=item)
    return Change("remove", change.steps, path, before=item)


Tell = Callable[["re.Match[str]", Change], str]

_CONTAINER: Final = (
    r'(?:.*\.)?(?P<kind>containers|initContainers|ephemeralContainers)\[name="(?P<container>[^"]*)"\]'
)
_KEY: Final = r'(?:\.(?P<plain>[\w-]+)|\["(?P<quoted>(?:[^"\\]|\\.)*)"\])'
_POD: Final = r"(?:.*\.)?spec"
_NODE_TERMS: Final = rf"{_POD}\.affinity\.nodeAffinity\."
_POD_TERMS: Final = rf"{_POD}\.affinity\.pod(?P<anti>Anti)?Affinity\."
_WORDS: Final = {"containers": "container", "initContainers": "init container"}


def _who(match: re.Match[str]) -> str:
    word = _WORDS.get(match["kind"], "ephemeral container")
    return f"{word} `{match['container']}`"


def _key(match: re.Match[str]) -> str:
    return match["plain"] or match["quoted"] or ""


def _host_users(_: re.Match[str], change: Change) -> str:
    if change.after is False:
        return "gives the pod a user namespace of its own: root in a container is nobody on the node"
    return "lets the pod use the node's own users" if change.after is True else ""


def _priority_class(_: re.Match[str], change: Change) -> str:
    if change.op == "remove":
        return f"takes away the priority class `{change.before}`"
    before = f" instead of `{change.before}`" if change.op == "replace" else ""
    return f"gives the pod the priority class `{change.after}`{before}"


def _priority(_: re.Match[str], change: Change) -> str:
    if change.op == "remove":
        return ""
    before = f" (it was {change.before})" if change.op == "replace" else ""
    return f"so its priority is {change.after}{before}"


def _preemption(_: re.Match[str], change: Change) -> str:
    if change.after == "Never":
        return "so it waits for room and never pushes other pods out"
    return "so it may push out pods of lower priority" if change.after == "PreemptLowerPriority" else ""


def _env(match: re.Match[str], change: Change) -> str:
    item = change.after if change.op == "add" else change.before
    if not isinstance(item, dict):
        return ""
    variable = f"environment variable `{item.get('name')}"
    given = f"={item['value']}`" if "value" in item else f"` from {_source(item.get('valueFrom'))}"
    if change.op == "remove":
        return f"removes {variable}` from {_who(match)}"
    return f"adds {variable}{given} to {_who(match)}"


def _source(source: Any) -> str:
    """`the pod's field `status.podIP``."""
    if isinstance(source, dict):
        for kind, key, word in (
            ("fieldRef", "fieldPath", "the pod's field"),
            ("resourceFieldRef", "resource", "the container's own"),
        ):
            if isinstance(source.get(kind), dict):
                return f"{word} `{source[kind].get(key)}`"
        for kind, word in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            if isinstance(source.get(kind), dict):
                return f"key `{source[kind].get('key')}` of {word} `{source[kind].get('name')}`"
    return value(source)


def _env_value(match: re.Match[str], change: Change) -> str:
    if change.op != "replace":
        return ""
    variable = f"environment variable `{match['name']}` of {_who(match)}"
    return f"changes {variable} from {value(change.before)} to {value(change.after)}"


def _toleration(_: re.Match[str], change: Change) -> str:
    if change.op == "add":
        return f"lets the pod run on nodes with {terms.toleration(change.after)}"
    return (
        f"no longer lets the pod run on nodes with {terms.toleration(change.before)}"
        if change.op == "remove"
        else ""
    )


def _claim(_: re.Match[str], change: Change) -> str:
    item = change.after if change.op == "add" else change.before
    if change.op == "replace" or not isinstance(item, dict):
        return ""
    template, name = item.get("resourceClaimTemplateName"), item.get("resourceClaimName")
    of = f"template `{template}`" if template else f"the existing claim `{name}`"
    verb = "asks for devices by" if change.op == "add" else "no longer asks for devices by"
    return f"{verb} {of}, as claim `{item.get('name')}`"


def _uses_claim(match: re.Match[str], change: Change) -> str:
    item = change.after if change.op == "add" else change.before
    if change.op == "replace" or not isinstance(item, dict):
        return ""
    verb = "gives" if change.op == "add" else "no longer gives"
    return f"{verb} {_who(match)} the devices of claim `{item.get('name')}`"


def _amount(match: re.Match[str], change: Change) -> str:
    what = "limit" if match["amount"] == "limits" else "request"
    key, who = _key(match), _who(match)
    match change.op:
        case "add":
            return f"sets the {what} of {who} for `{key}` to {change.after}"
        case "remove":
            return f"takes the {what} `{key}: {change.before}` away from {who}"
        case "replace":
            return f"changes the {what} of {who} for `{key}` from {change.before} to {change.after}"


def _volume(_: re.Match[str], change: Change) -> str:
    item = change.after if change.op == "add" else change.before
    if change.op == "replace" or not isinstance(item, dict):
        return ""
    kinds = [key for key in item if key != "name"]
    of = f" ({kinds[0]} {value(item[kinds[0]])})" if kinds else ""
    return f"{'adds' if change.op == 'add' else 'removes'} volume `{item.get('name')}`{of}"


def _mount(match: re.Match[str], change: Change) -> str:
    item = change.after if change.op == "add" else change.before
    if change.op == "replace" or not isinstance(item, dict):
        return ""
    if change.op == "remove":
        return f"no longer mounts `{item.get('name')}` in {_who(match)}"
    only = ", read-only" if item.get("readOnly") else ""
    return f"mounts volume `{item.get('name')}` in {_who(match)} at `{item.get('mountPath')}`{only}"


def _label(match: re.Match[str], change: Change) -> str:
    what, key = match["what"][:-1], _key(match)
    match change.op:
        case "add":
            return f"adds the {what} `{key}: {change.after}`"
        case "remove":
            return f"removes the {what} `{key}: {change.before}`"
        case "replace":
            return f"changes the {what} `{key}` from {value(change.before)} to {value(change.after)}"


def _node_selector(match: re.Match[str], change: Change) -> str:
    if change.op == "remove":
        return f"no longer asks for nodes with the label `{_key(match)}: {change.before}`"
    return f"sends the pod to nodes with the label `{_key(match)}: {change.after}`"


def _spread(_: re.Match[str], change: Change) -> str:
    item = change.after
    if change.op != "add" or not isinstance(item, dict):
        return ""
    return f"spreads pods {terms.spread(item)}"


def _node_term(match: re.Match[str], change: Change) -> str:
    item = change.after
    if change.op != "add" or not isinstance(item, dict):
        return ""
    if match["preferred"]:
        wanted = terms.node_term(item.get("preference") or {})
        return f"prefers nodes where {wanted} (weight {item.get('weight')})"
    return f"allows only nodes where {terms.node_term(item)}"


def _node_requirement(_: re.Match[str], change: Change) -> str:
    if change.op != "add" or not isinstance(change.after, dict):
        return ""
    return f"allows only nodes where {terms.node_term({'matchExpressions': [change.after]})}"


def _pod_term(match: re.Match[str], change: Change) -> str:
    item, anti = change.after, bool(match["anti"])
    if change.op != "add" or not isinstance(item, dict):
        return ""
    if match["preferred"]:
        wanted = terms.pod_term(item.get("podAffinityTerm") or {}, anti=anti)
        return f"prefers to run {wanted} (weight {item.get('weight')})"
    return f"lets the pod run only {terms.pod_term(item, anti=anti)}"


def _security(match: re.Match[str], change: Change) -> str:
    who = _who(match) if "container" in match.re.groupindex else "the pod"
    if change.op == "add":
        return f"sets `{match['setting']}` of {who} to {value(change.after)}"
    return ""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)


_SENTENCES: Final[tuple[tuple[re.Pattern[str], Tell], ...]] = (
    (_pattern(rf"{_POD}\.hostUsers"), _host_users),
    (_pattern(rf"{_POD}\.priorityClassName"), _priority_class),
    (_pattern(rf"{_POD}\.priority"), _priority),
    (_pattern(rf"{_POD}\.preemptionPolicy"), _preemption),
    (_pattern(rf'{_CONTAINER}\.env\[name="[^"]*"\]'), _env),
    (_pattern(rf'{_CONTAINER}\.env\[name="(?P<name>[^"]*)"\]\.value'), _env_value),
    (_pattern(rf"{_POD}\.tolerations\[\d+\]"), _toleration),
    (_pattern(rf'{_POD}\.resourceClaims\[name="[^"]*"\]'), _claim),
    (_pattern(rf'{_CONTAINER}\.resources\.claims\[name="[^"]*"\]'), _uses_claim),
    (_pattern(rf"{_CONTAINER}\.resources\.(?P<amount>limits|requests){_KEY}"), _amount),
    (_pattern(rf'{_POD}\.volumes\[name="[^"]*"\]'), _volume),
    (_pattern(rf'{_CONTAINER}\.volumeMounts\[(?:\d+|name="[^"]*")\]'), _mount),
    (_pattern(rf"(?:.*\.)?metadata\.(?P<what>labels|annotations){_KEY}"), _label),
    (_pattern(rf"{_POD}\.nodeSelector{_KEY}"), _node_selector),
    (_pattern(rf"{_POD}\.topologySpreadConstraints\[\d+\]"), _spread),
    (
        _pattern(rf"{_NODE_TERMS}(?:(?P<preferred>preferred)|required)\w+(?:\.nodeSelectorTerms)?\[\d+\]"),
        _node_term,
    ),
    (_pattern(rf"{_NODE_TERMS}.*\.matchExpressions\[\d+\]"), _node_requirement),
    (_pattern(rf"{_POD_TERMS}(?:(?P<preferred>preferred)|required)\w+\[\d+\]"), _pod_term),
    (_pattern(rf"{_CONTAINER}\.securityContext\.(?P<setting>.+)"), _security),
    (_pattern(rf"{_POD}\.securityContext\.(?P<setting>.+)"), _security),
)
