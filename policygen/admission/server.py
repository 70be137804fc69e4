"""The server's chain for one request, in order."""

from __future__ import annotations

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.request import AdmissionRequest


def admit(cluster: Cluster, request: AdmissionRequest, *, explain: bool = False) -> Outcome:
    """What the API server answers. The request's objects are as the client sent them; they are not changed.

    Decode (typed round trip), API defaulting, the strategy's preparation, mutating plugins with
    MutatingAdmissionPolicy and one reinvocation of the chain, validation of the object, validating plugins
    with ValidatingAdmissionPolicy, quota. With `explain` the verdicts carry variables and changes.
    """
    raise SystemExit((cluster, request, explain))
