"""`map`: one mutating policy alone on one object, as the server's plugin runs it.

`matchConstraints` and bindings are not evaluated, there is one pass and no in-tree plugin. Answers have
the shape of a recording's `expect`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from policygen.admission.activation import default_options, namespace_data, subject_of
from policygen.admission.attributes import Attributes
from policygen.admission.authorizer import authorizer_for
from policygen.admission.cluster import Cluster
from policygen.admission.compilation import compile_policy
from policygen.admission.conditions import check_conditions
from policygen.admission.dispatcher import MutationRun
from policygen.admission.matching import Match
from policygen.admission.outcome import Denied
from policygen.admission.policy import read_policy
from policygen.admission.request import AdmissionRequest, Operation, UserInfo
from policygen.conformance.runner import Agreement
from policygen.kube import catalog, defaults
from policygen.kube.names import GroupVersionResource, gvk
from policygen.kube.roundtrip import round_trip

_ATOMIC = "may not mutate atomic arrays, maps or structs: "
_ALICE = UserInfo("alice", ("system:authenticated",))


def judge(case: Mapping[str, Any], _contexts: Mapping[str, Any]) -> Agreement:
    """Run one case and compare."""
    expected = dict(case["expect"])
    internal = expected.pop("messageIsGoInternal", False)
    got = answer(case)
    outcome = _outcome(expected) == _outcome(got)
    message = outcome and (bool(internal) or _texts(expected) == _texts(got))
    if outcome and message:
        return Agreement(True, True, True)
    return Agreement(outcome, message, True, json.dumps(expected), json.dumps(got))


def _outcome(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with its texts reduced to their presence."""
    reduced = dict(answer)
    if "errors" in reduced:
        reduced["errors"] = len(reduced["errors"])
    if "matchError" in reduced:
        reduced["matchError"] = True
    return reduced


def _texts(answer: Mapping[str, Any]) -> list[str]:
    return [*map(_sorted_paths, answer.get("errors", ())), answer.get("matchError", "")]


def _sorted_paths(text: str) -> str:
    """The server lists atomic paths in no fixed order."""
    before, found, paths = text.partition(_ATOMIC)
    return before + found + ", ".join(sorted(paths.split(", "))) if found else text


def answer(vector: Mapping[str, Any]) -> dict[str, Any]:
    """What the policy does to the object."""
    cluster = Cluster(authorizer=vector.get("authorizerAllow") or {})
    with_defaults = bool(vector.get("default"))
    request = _request(vector, with_defaults)
    attributes = Attributes(request, request.object)
    found = Match(request.resource, request.kind)
    subject = subject_of(
        attributes,
        found,
        namespace=namespace_data(vector.get("namespaceObject"), cluster.version),
        params=vector.get("params"),
        authorizer=authorizer_for(attributes, cluster),
    )
    compiled = compile_policy(read_policy(vector["policy"]), cluster.version)
    out: dict[str, Any] = {}
    if compiled.conditions:
        result = check_conditions(compiled, subject)
        if result.error:
            return {"matchError": result.error}
        out["matches"] = result.matches
        if not result.matches:
            return {**out, "failedCondition": result.failed}
    if subject.object is None:
        return out
    run = MutationRun(compiled, subject, cluster, found, request.kind, default=with_defaults)
    try:
        run.all(stop_at_status=False)
    except Denied as denied:
        if denied.reason == "ServerPanic":
            return {"panic": True}
        raise
    if run.errors:
        out["errors"] = run.errors
    out["object"] = run.object
    return out


def _request(vector: Mapping[str, Any], with_defaults: bool) -> AdmissionRequest:
    operation: Operation = vector.get("operation") or "CREATE"
    subject = vector.get("oldObject") if operation == "DELETE" else vector.get("object")
    assert subject is not None, "a vector has an object"
    kind = gvk(subject["apiVersion"], subject["kind"])
    metadata = subject.get("metadata") or {}
    user = vector.get("userInfo")
    return AdmissionRequest(
        operation=operation,
        kind=kind,
        resource=GroupVersionResource(kind.group, kind.version, kind.kind.lower() + "s"),
        name=metadata.get("name") or "",
        namespace=metadata.get("namespace") or "",
        object=_typed(vector.get("object"), with_defaults),
        old_object=_typed(vector.get("oldObject"), with_defaults),
        user_info=_ALICE if user is None else _user(user),
        options=default_options(operation),
    )


def _user(user: Mapping[str, Any]) -> UserInfo:
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    return UserInfo(user.get("username", ""), tuple(user.get("groups") or ()), user.get("uid", ""), extra)


def _typed(obj: dict[str, Any] | None, with_defaults: bool) -> dict[str, Any] | None:
    if obj is None:
        return None
    schema = catalog.load(catalog.RECORDED).get(obj["apiVersion"], obj["kind"])
    if schema is None:
        return obj
    typed = round_trip(obj, schema)
    return defaults.apply(typed, schema) if with_defaults else typed
