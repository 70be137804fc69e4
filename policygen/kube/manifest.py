"""Objects as YAML in the field order that people write, so that a diff of two builds reads well.

kubectl, YAML 1.1 and YAML 1.2 readers all read the same value back: what any of them would misread (`y`,
`010`, `1e3`, `1:30`) is quoted. Long texts such as CEL expressions stand in literal blocks. The same object
gives the same bytes whatever the order of its keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from policygen.kube import yaml11

_ORDER: Final = """
apiVersion kind metadata type name generateName namespace labels annotations ownerReferences finalizers
schedulingGates failurePolicy reinvocationPolicy policyName paramKind paramRef parameterNotFoundAction
matchConstraints matchResources matchConditions matchPolicy namespaceSelector objectSelector
excludeResourceRules resourceRules apiGroups apiVersions operations resources
resourceNames scope variables validationActions validations
auditAnnotations mutations patchType applyConfiguration jsonPatch key operator value values valueFrom effect
tolerationSeconds expression message messageExpression reason description
devices requests exactly firstAvailable deviceClassName selectors allocationMode count tolerations capacity
constraints matchAttribute config driver extendedResourceName
replicas parallelism completions completionMode backoffLimit suspend selector template jobTemplate schedule
strategy updateStrategy
hostUsers hostNetwork runtimeClassName priorityClassName schedulerName restartPolicy serviceAccountName
nodeSelector affinity topologySpreadConstraints resourceClaims securityContext initContainers containers image
imagePullPolicy command args workingDir env envFrom ports containerPort port targetPort protocol limits claims
volumeDevices volumeMounts mountPath volumes
maxSkew topologyKey whenUnsatisfiable labelSelector matchLabels matchExpressions matchLabelKeys
globalDefault preemptionPolicy hard scopes scopeSelector scopeName max min default defaultRequest
spec data status
""".split()  # noqa: SIM905  # one word a field reads better
_CONTAINER: Final = (
    "name",
    "image",
    "imagePullPolicy",
    "command",
    "args",
    "workingDir",
    "env",
    "envFrom",
    "ports",
    "resources",
    "volumeMounts",
)
_RANK: Final = {name: rank for rank, name in enumerate(_ORDER)}
_CONTAINER_RANK: Final = {name: rank for rank, name in enumerate(_CONTAINER)}
_SORTED: Final[Mapping[str, int]] = {}
_LAST: Final = len(_ORDER)
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})

_MAPS: Final = frozenset(
    {
        "labels",
        "annotations",
        "matchLabels",
        "nodeSelector",
        "data",
        "stringData",
        "binaryData",
        "hard",
        "limits",
        "capacity",
        "attributes",
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
        "overhead",
        "parameters",
    }
)
"""Fields whose keys are the user's own: sorted, never ranked."""

WIDTH: Final = 80
"""Lists of scalars that fit a line of this width stand on it."""

_PLAIN: Final = re.compile(
    r"[A-Za-z0-9_/$(][^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*"
).fullmatch
_NUMBERLIKE: Final = re.compile(r"[0-9][0-9a-fA-FxXoObBeE_.:+TtZz -]*|[0-9].*[0-9]{2}:[0-9]{2}.*").fullmatch
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"})
_UNSAFE_BLOCK: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"
).search
_FLOW_MARK: Final = re.compile(r"[,\[\]{}:#?&*!|>'\"%@`]").search
_ESCAPED: Final = re.compile(r"[\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def write(value: Mapping[str, Any]) -> str:
    """One object as a YAML document, with a line end and without `---`."""
    lines: list[str] = []
    _map(lines, value, "", "", _RANK)
    return "\n".join(lines) + "\n"


def write_all(values: Iterable[Mapping[str, Any]]) -> str:
    """Objects as one stream of documents."""
    return "---\n".join(write(value) for value in values)


def _map(
    lines: list[str], value: Mapping[str, Any], first: str, indent: str, rank: Mapping[str, int]
) -> None:
    """The lines of a map. `first` stands before its first key: `- ` inside a list, else the indent."""
    if not value:
        lines.append(f"{first}{{}}")
        return
    before = first
    for key in sorted(value, key=lambda name: (rank.get(name, _LAST), name)):
        shown = _text(key)
        if len(shown) > 1000:
            lines.append(f"{before}? {shown}")
            shown = indent  # an explicit key: the value stands behind a colon of its own
        else:
            shown = before + shown
        _value(lines, value[key], shown, indent, key)
        before = indent


def _value(lines: list[str], value: Any, shown: str, indent: str, key: str) -> None:
    """The lines of one key and its value."""
    if isinstance(value, dict):
        if value:
            lines.append(f"{shown}:")
            below = indent + "  "
            _map(lines, value, below, below, _SORTED if key in _MAPS else _RANK)
        else:
            lines.append(f"{shown}: {{}}")
    elif isinstance(value, list):
        flow = _flow(value, WIDTH - len(shown) - 2)
        if flow is not None:
            lines.append(f"{shown}: {flow}")
        else:
            lines.append(f"{shown}:")
            _list(lines, value, indent, _CONTAINER_RANK if key in _CONTAINERS else _RANK)
    elif isinstance(value, str) and _stands_in_block(value):
        lines.extend(_block(value, f"{shown}: ", indent + "  "))
    else:
        lines.append(f"{shown}: {_scalar(value)}")


def _list(lines: list[str], value: list[Any], indent: str, rank: Mapping[str, int]) -> None:
    """The lines of a list; items start at the indent of the key that holds them."""
    below = indent + "  "
    for item in value:
        if isinstance(item, dict):
            _map(lines, item, f"{indent}- ", below, rank)
        elif isinstance(item, list):
            flow = _flow(item, 10**6)
            if flow is not None:
                lines.append(f"{indent}- {flow}")
            else:
                lines.append(f"{indent}-")
                _list(lines, item, below, rank)
        elif isinstance(item, str) and _stands_in_block(item):
            lines.extend(_block(item, f"{indent}- ", below))
        else:
            lines.append(f"{indent}- {_scalar(item)}")


def _flow(value: list[Any], width: int) -> str | None:
    """A list of scalars on one line, if it fits."""
    if any(isinstance(item, dict | list) or (isinstance(item, str) and "\n" in item) for item in value):
        return None
    parts = [_in_flow(item) for item in value]
    text = f"[{', '.join(parts)}]"
    return text if len(text) <= width or not value else None


def _in_flow(value: Any) -> str:
    text = _scalar(value)
    return _quoted(value) if isinstance(value, str) and text == value and _FLOW_MARK(text) else text


def _stands_in_block(text: str) -> bool:
    """Texts of several lines, and long ones that would be full of escapes."""
    return "\n" in text or (len(text) > 60 and _text(text) != text)


def _block(text: str, first: str, indent: str) -> list[str]:
    """A text with line ends as a literal block, or quoted where a block could not hold it."""
    body = text.rstrip("\n")
    if not body or body.startswith((" ", "\n", "\t")) or _UNSAFE_BLOCK(text):
        return [first + _quoted(text)]
    ends = len(text) - len(body)
    chomp = "-" if ends == 0 else "" if ends == 1 else "+"
    lines = [f"{first}|{chomp}"]
    lines.extend(indent + line if line else "" for line in body.split("\n"))
    lines.extend([""] * (ends - 1))
    return lines


def _scalar(value: Any) -> str:
    match value:
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            text = repr(value)
            mantissa, exponent, power = text.partition("e")
            return f"{mantissa}.0{exponent}{power}" if exponent and "." not in mantissa else text
        case _:
            return str(value)


@lru_cache(8192)
def _text(text: str) -> str:
    """A string, quoted if some reader would take its plain form for something else."""
    if (
        _PLAIN(text)
        and text.lower() not in _WORDS
        and ": " not in text
        and " #" not in text
        and not text.endswith((" ", ":"))
        and not _NUMBERLIKE(text)
        and type(yaml11.resolve(text)) is str
    ):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    if ('"' in text or "\\" in text) and not _UNSAFE_BLOCK(text) and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    escaped = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
