"""Rules of what makes pods (Kubernetes `pkg/apis/{apps,batch,core}/validation/validation.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policygen.admission.validation import content, internal, metadata, pods
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube import selectors
from policygen.kube.strategy import UID

_MISMATCH: Final = "`selector` does not match template `labels`"
_STATEFUL_MAY_CHANGE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_STATEFUL_SAYS: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _not_negative(found: FieldErrors, given: Mapping[str, Any], fields: Iterable[str], path: str) -> None:
    for field in fields:
        value = given.get(field)
        if value is not None and value < 0:
            found.invalid(f"{path}.{field}", value, content.NEGATIVE)


def _selector(found: FieldErrors, spec: Object, kind: str, path: str) -> selectors.Selector | None:
    """The selector's own rules; None where it cannot be used."""
    selector = spec.get("selector")
    if selector is None:
        found.required(f"{path}.selector")
        return selectors.EVERYTHING
    metadata.selector(found, selector, f"{path}.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        found.invalid(f"{path}.selector", {}, f"empty selector is invalid for {kind}")
        return selectors.EVERYTHING
    try:
        return selectors.from_object(selector)
    except selectors.SelectorError:
        found.invalid(f"{path}.selector", metadata.shown_selector(selector), "invalid label selector")
        return None


def _template(
    found: FieldErrors, template: Object | None, selector: selectors.Selector | None, kind: str, path: str
) -> None:
    """`ValidatePodTemplateSpecForReplicaSet` and its like: the pods are selected and always restarted."""
    if selector is None:
        return
    if template is None:
        found.required(path)
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not selector.matches(labels):
        found.invalid(f"{path}.metadata.labels", dict(sorted(labels.items())) or None, _MISMATCH)
    pods.template(found, template, path)
    _always(found, template.get("spec") or {}, kind, f"{path}.spec")


def _always(found: FieldErrors, spec: Object, kind: str, path: str) -> None:
    restart = spec.get("restartPolicy") or ""
    if restart != "Always":
        found.unsupported(f"{path}.restartPolicy", restart, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        says = f"activeDeadlineSeconds in {kind} is not Supported"
        found.forbidden(f"{path}.activeDeadlineSeconds", says)


def deployment(found: FieldErrors, obj: Object) -> None:
    """`ValidateDeployment`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _deployment_spec(found, obj.get("spec") or {})


def deployment_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateDeploymentUpdate`; the selector stays (apps/v1 strategy)."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _deployment_spec(found, obj.get("spec") or {})
    _same_selector(found, obj, old)


def _same_selector(found: FieldErrors, obj: Object, old: Object) -> None:
    selector = (obj.get("spec") or {}).get("selector")
    if selector != (old.get("spec") or {}).get("selector"):
        found.invalid("spec.selector", metadata.shown_selector(selector), metadata.IMMUTABLE)


def _deployment_spec(found: FieldErrors, spec: Object) -> None:
    _not_negative(found, spec, ("replicas",), "spec")
    selector = _selector(found, spec, "deployment", "spec")
    _template(found, spec.get("template"), selector, "ReplicaSet", "spec.template")
    _strategy(found, spec.get("strategy") or {}, "spec.strategy")
    _not_negative(found, spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec")
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        found.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _strategy(found: FieldErrors, strategy: Object, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type") or "":
        case "Recreate":
            if rolling is not None:
                says = "may not be specified when strategy `type` is 'Recreate'"
                found.forbidden(f"{path}.rollingUpdate", says)
        case "RollingUpdate":
            if rolling is None:
                found.required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
            else:
                _rolling(found, rolling, f"{path}.rollingUpdate")
        case _:
            shown = internal.shown(strategy, internal.UPDATE_STRATEGY)
            found.unsupported(path, shown, ("Recreate", "RollingUpdate"))


def _rolling(found: FieldErrors, rolling: Object, path: str) -> None:
    for field in ("maxUnavailable", "maxSurge"):
        _amount(found, rolling.get(field) or 0, f"{path}.{field}")
    unavailable = rolling.get("maxUnavailable") or 0
    if unavailable in (0, "0%") and (rolling.get("maxSurge") or 0) in (0, "0%"):
        says = "may not be 0 when `maxSurge` is 0"
        found.invalid(f"{path}.maxUnavailable", unavailable, says)
    if isinstance(unavailable, str) and unavailable[:-1].isdigit() and int(unavailable[:-1]) > 100:
        found.invalid(f"{path}.maxUnavailable", unavailable, "must not be greater than 100%")


def _amount(found: FieldErrors, value: int | str, path: str) -> None:
    """`ValidatePositiveIntOrPercent`."""
    if isinstance(value, str):
        found.messages(path, value, content.percent(value))
    elif value < 0:
        found.invalid(path, value, content.NEGATIVE)


def scale_update(found: FieldErrors, obj: Object, _old: Object) -> None:
    """`ValidateScale`: the `scale` subresource of a workload."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _not_negative(found, obj.get("spec") or {}, ("replicas",), "spec")


def replica_set(found: FieldErrors, obj: Object) -> None:
    """`ValidateReplicaSet`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _replica_set_spec(found, obj.get("spec") or {})


def replica_set_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateReplicaSetUpdate`."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _replica_set_spec(found, obj.get("spec") or {})
    _same_selector(found, obj, old)


def _replica_set_spec(found: FieldErrors, spec: Object) -> None:
    _not_negative(found, spec, ("replicas", "minReadySeconds"), "spec")
    selector = _selector(found, spec, "deployment", "spec")
    _template(found, spec.get("template"), selector, "ReplicaSet", "spec.template")


def replication_controller(found: FieldErrors, obj: Object) -> None:
    """`ValidateReplicationController`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    spec = obj.get("spec") or {}
    _not_negative(found, spec, ("minReadySeconds",), "spec")
    given = spec.get("selector") or {}
    if not given:
        found.required("spec.selector")
    _not_negative(found, spec, ("replicas",), "spec")
    try:
        selector = selectors.from_object({"matchLabels": given})
    except (
        selectors.SelectorError
    ):  # the server matches such labels all the same; a template cannot have them
        selector = selectors.NOTHING
    _template(found, spec.get("template"), selector, "ReplicationController", "spec.template")


def stateful_set(found: FieldErrors, obj: Object) -> None:
    """`ValidateStatefulSet`."""
    metadata.validate(found, obj.get("metadata") or {}, content.label, namespaced=True)
    _stateful_set_spec(found, obj.get("spec") or {})


def stateful_set_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateStatefulSetUpdate`: few fields may change."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _stateful_set_spec(found, obj.get("spec") or {})
    rest, before = (
        {key: value for key, value in (item.get("spec") or {}).items() if key not in _STATEFUL_MAY_CHANGE}
        for item in (obj, old)
    )
    if rest != before:
        found.forbidden("spec", _STATEFUL_SAYS)


def _stateful_set_spec(found: FieldErrors, spec: Object) -> None:
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        found.required("spec.podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        found.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    update = spec.get("updateStrategy") or {}
    match update.get("type") or "":
        case "":
            found.required("spec.updateStrategy")
        case "OnDelete":
            if update.get("rollingUpdate") is not None:
                says = "only allowed for updateStrategy 'RollingUpdate'"
                found.invalid("spec.updateStrategy.rollingUpdate", update["rollingUpdate"], says)
        case "RollingUpdate":
            rolling = update.get("rollingUpdate") or {}
            _not_negative(found, rolling, ("partition",), "spec.updateStrategy.rollingUpdate")
        case _:
            shown = internal.shown(update, internal.UPDATE_STRATEGY)
            found.invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
    _not_negative(found, spec, ("replicas", "minReadySeconds"), "spec")
    selector = _selector(found, spec, "statefulset", "spec")
    _template(found, spec.get("template"), selector, "StatefulSet", "spec.template")


def daemon_set(found: FieldErrors, obj: Object) -> None:
    """`ValidateDaemonSet`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _daemon_set_spec(found, obj.get("spec") or {})


def daemon_set_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateDaemonSetUpdate`."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _daemon_set_spec(found, obj.get("spec") or {})
    _same_selector(found, obj, old)


def _daemon_set_spec(found: FieldErrors, spec: Object) -> None:
    selector = _selector(found, spec, "daemonset", "spec")
    _template(found, spec.get("template"), selector, "DaemonSet", "spec.template")
    _not_negative(found, spec, ("minReadySeconds",), "spec")
    strategy = spec.get("updateStrategy") or {}
    match strategy.get("type") or "":
        case "OnDelete":
            pass
        case "RollingUpdate":
            if strategy.get("rollingUpdate") is None:
                found.required("spec.updateStrategy.rollingUpdate")
        case other:
            found.unsupported("spec.updateStrategy.type", other, ("RollingUpdate", "OnDelete"))
    _not_negative(found, spec, ("revisionHistoryLimit",), "spec")


def job(found: FieldErrors, obj: Object) -> None:
    """`ValidateJob`."""
    meta, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    metadata.validate(found, meta, namespaced=True)
    if not spec.get("manualSelector") and spec.get("selector") is not None:
        _generated(found, spec, meta.get("name") or "")
    _whole_job_spec(found, spec)
    completions, name = spec.get("completions"), meta.get("name") or ""
    if spec.get("completionMode") == "Indexed" and completions:
        hostname = f"{name}-{completions - 1}"
        if content.label(hostname):
            says = f"will not able to create pod with invalid DNS label: {hostname}"
            found.invalid("metadata.name", name, says)


def _generated(found: FieldErrors, spec: Object, name: str) -> None:
    """`ValidateGeneratedSelector`: the labels that the server gives the pods are there and are selected."""
    given = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    own = {"controller-uid": UID, "job-name": name}
    own |= {f"batch.kubernetes.io/{key}": value for key, value in own.items()}
    for key in (
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    ):
        path = f"spec.labels[{key}]"
        if key not in given:
            found.required(path, f"must be '{own[key]}'")
        elif given[key] != own[key]:
            found.invalid(path, dict(sorted(given.items())), f"must be '{own[key]}'")
    try:
        if not selectors.from_object(spec["selector"]).matches(own):
            found.invalid(
                "spec.selector", metadata.shown_selector(spec["selector"]), "`selector` not auto-generated"
            )
    except selectors.SelectorError:
        return


def job_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateJobUpdate`; a suspended job may still be placed."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    _whole_job_spec(found, spec)
    fields = (
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    )
    for field in fields:
        if spec.get(field) != before.get(field):
            found.invalid(f"spec.{field}", spec.get(field), metadata.IMMUTABLE)
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if spec.get("completions") != before.get("completions") and not elastic:
        found.invalid("spec.completions", spec.get("completions"), metadata.IMMUTABLE)
    if _fixed_template(spec, before) != _fixed_template(before, before):
        found.invalid("spec.template", spec.get("template"), metadata.IMMUTABLE)


def _fixed_template(spec: Object, before: Object) -> Any:
    """The part of a job's template that stays: while suspended, placement may change."""
    template = spec.get("template") or {}
    if not before.get("suspend"):
        return template
    placement = ("affinity", "nodeSelector", "tolerations", "schedulingGates")
    body = {key: value for key, value in (template.get("spec") or {}).items() if key not in placement}
    meta = {
        key: value
        for key, value in (template.get("metadata") or {}).items()
        if key not in ("annotations", "labels")
    }
    return {**template, "metadata": meta, "spec": body}


def _whole_job_spec(found: FieldErrors, spec: Object) -> None:
    _job_spec(found, spec, "spec")
    given = spec.get("selector")
    if given is None:
        found.required("spec.selector")
    else:
        metadata.selector(found, given, "spec.selector")
    try:
        selector = selectors.from_object(given)
    except selectors.SelectorError:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not selector.matches(labels):
        found.invalid("spec.template.metadata.labels", dict(sorted(labels.items())) or None, _MISMATCH)


def _job_spec(found: FieldErrors, spec: Object, path: str) -> None:
    """`validateJobSpec`."""
    fields = (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    )
    _not_negative(found, spec, (*fields, "backoffLimitPerIndex", "maxFailedIndexes"), path)
    mode = spec.get("completionMode")
    if mode is not None:
        if mode not in ("NonIndexed", "Indexed"):
            found.unsupported(f"{path}.completionMode", mode, ("Indexed", "NonIndexed"))
        if mode == "Indexed":
            _indexed(found, spec, path)
    if spec.get("backoffLimitPerIndex") is not None and mode != "Indexed":
        says = "requires indexed completion mode"
        found.invalid(f"{path}.backoffLimitPerIndex", spec["backoffLimitPerIndex"], says)
    if spec.get("podReplacementPolicy") not in (None, "Failed", "TerminatingOrFailed"):
        choices = ("Failed", "TerminatingOrFailed")
        found.unsupported(f"{path}.podReplacementPolicy", spec["podReplacementPolicy"], choices)
    template = spec.get("template") or {}
    pods.template(found, template, f"{path}.template")
    restart = (template.get("spec") or {}).get("restartPolicy") or ""
    at = f"{path}.template.spec.restartPolicy"
    if restart in ("", "Always"):
        found.required(at, 'valid values: "OnFailure", "Never"')
    elif restart not in ("OnFailure", "Never"):
        found.unsupported(at, restart, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and restart != "Never":
        says = 'only "Never" is supported when podFailurePolicy is specified'
        found.invalid(at, restart, says)


def _indexed(found: FieldErrors, spec: Object, path: str) -> None:
    if spec.get("completions") is None:
        found.required(f"{path}.completions", "when completion mode is Indexed")
    parallelism = spec.get("parallelism")
    if parallelism is not None and parallelism > 100_000:
        says = "must be less than or equal to 100000 when completion mode is Indexed"
        found.invalid(f"{path}.parallelism", parallelism, says)


def cron_job(found: FieldErrors, obj: Object) -> None:
    """`ValidateCronJobCreate`."""
    meta = obj.get("metadata") or {}
    metadata.validate(found, meta, namespaced=True)
    _cron_job_spec(found, obj.get("spec") or {})
    if len(meta.get("name") or "") > 52:
        found.invalid("metadata.name", meta["name"], "must be no more than 52 characters")


def cron_job_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateCronJobUpdate`."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _cron_job_spec(found, obj.get("spec") or {})


def _cron_job_spec(found: FieldErrors, spec: Object) -> None:
    _schedule(found, spec.get("schedule") or "")
    _not_negative(found, spec, ("startingDeadlineSeconds",), "spec")
    policy, choices = spec.get("concurrencyPolicy") or "", ("Allow", "Forbid", "Replace")
    if not policy:
        found.required("spec.concurrencyPolicy")
    elif policy not in choices:
        found.unsupported("spec.concurrencyPolicy", policy, choices)
    path = "spec.jobTemplate.spec"
    inner = (spec.get("jobTemplate") or {}).get("spec") or {}
    _job_spec(found, inner, path)
    if inner.get("selector") is not None:
        found.invalid(
            f"{path}.selector",
            metadata.shown_selector(inner["selector"]),
            "`selector` will be auto-generated",
        )
    if inner.get("manualSelector"):
        found.unsupported(f"{path}.manualSelector", True, ("nil", "false"))
    _not_negative(found, spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec")


def _schedule(found: FieldErrors, schedule: str) -> None:
    """The parts of `validateScheduleFormat` that do not need a parser: how many fields there are."""
    fields = schedule.split()
    if not schedule:
        found.required("spec.schedule")
    elif "TZ" in schedule:
        says = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.invalid("spec.schedule", schedule, says)
    elif not schedule.startswith("@") and len(fields) != 5:
        says = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        found.invalid("spec.schedule", schedule, says)


def pod_template(found: FieldErrors, obj: Object) -> None:
    """`ValidatePodTemplate`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    pods.template(found, obj.get("template") or {}, "template")
