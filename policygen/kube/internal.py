"""What an object looks like after the server has held it in its internal types and turned it back.

Policies see objects that made this trip, and so do clients. Most fields come back as they went; the few that
do not are here. Follows Kubernetes `pkg/apis/{core,apps}/v1/conversion.go`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from policygen.kube.schema import KindSchema
from policygen.kube.type_rules import REMOVED, Rule, TypeRules

_Struct = dict[str, Any]

_GENERATION: Final = "deprecated.daemonset.template.generation"


def through_internal(obj: dict[str, Any], schema: KindSchema) -> dict[str, Any]:
    """The object as the server gives it out. It must be typed and defaulted; it is not changed."""
    return _rules().apply(obj, schema) if schema.builtin else obj


def _service_account(spec: _Struct) -> Mapping[str, Any] | None:
    """`serviceAccount` is an old name of `serviceAccountName`, always given out beside it."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if not name or (spec.get("serviceAccountName") == name and spec.get("serviceAccount") == name):
        return None
    return {"serviceAccountName": name, "serviceAccount": name}


def _secret_data(secret: _Struct) -> Mapping[str, Any] | None:
    """`stringData` is written into `data`, and wins."""
    given = secret.get("stringData")
    if not given:
        return None
    encoded = {
        name: base64.b64encode(text.encode("utf-8", "surrogatepass")).decode() for name, text in given.items()
    }
    return {"data": secret.get("data", {}) | encoded, "stringData": REMOVED}


def _template_generation(daemon_set: _Struct) -> Mapping[str, Any] | None:
    """The template's generation survives in an annotation."""
    metadata = daemon_set["metadata"]
    annotations = metadata.get("annotations", {})
    if _GENERATION in annotations:
        return None
    return {"metadata": metadata | {"annotations": annotations | {_GENERATION: "0"}}}


def _claim_kinds(spec: _Struct) -> Mapping[str, Any] | None:
    """The claims of a StatefulSet name their own kind."""
    claims = spec.get("volumeClaimTemplates")
    if not claims:
        return None
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {"volumeClaimTemplates": [claim | kind for claim in claims]}


_TABLE: Final[Mapping[str, tuple[Rule, ...]]] = {
    "core/v1.PodSpec": (_service_account,),
    "core/v1.Secret": (_secret_data,),
    "apps/v1.DaemonSet": (_template_generation,),
    "apps/v1.StatefulSetSpec": (_claim_kinds,),
}


@cache
def _rules() -> TypeRules:
    return TypeRules(_TABLE)
