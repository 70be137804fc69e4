"""The kinds that hold pods, and where in them each pod template stands.

One table. A template path is written as in `policygen.kube.schema`: `[]` steps into the items of a list and
`{}` into the values of a map. Every version that a cluster may serve is listed: a rule for one version also
matches requests in another (`matchPolicy: Equivalent`), and for kinds without conversion such a request is
then refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LIST: Final = "[]"
MAP: Final = "{}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind with pod templates. A Pod is its own template."""

    kind: str
    group: str
    versions: tuple[str, ...]
    """All served versions, the newest first."""
    plural: str
    templates: tuple[tuple[str, ...], ...]
    """Steps to each pod template; the empty path is the object itself."""
    builtin: bool = True
    mutable: bool = True
    """Whether the API server lets a template change after creation."""
    fields: frozenset[str] | None = None
    """The fields of the template's `spec` that the definition declares; None = those of a pod."""
    container_fields: frozenset[str] | None = None
    """The same for a container."""

    @property
    def api_version(self) -> str:
        """The newest one."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]

    @property
    def is_pod(self) -> bool:
        """Whether the object is the pod itself."""
        return self.templates == ((),)

    @property
    def single(self) -> tuple[str, ...] | None:
        """The one path of a built-in kind, which is always there; None where templates must be looked up."""
        return self.templates[0] if self.builtin else None


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.replace("[]", ".[]").replace("{}", ".{}").split("."))


_TEMPLATE: Final = (_path("spec.template"),)

# TrainJob: the pod spec of a runtime patch declares these fields only (trainer `PodTemplateSpecPatch`).
_TRAIN_JOB_SPEC: Final = frozenset(
    {
        "affinity",
        "containers",
        "imagePullSecrets",
        "initContainers",
        "nodeSelector",
        "schedulingGates",
        "securityContext",
        "serviceAccountName",
        "terminationGracePeriodSeconds",
        "tolerations",
        "volumes",
    }
)
_TRAIN_JOB_CONTAINER: Final = frozenset({"env", "name", "securityContext", "volumeMounts"})

WORKLOADS: Final[dict[str, Workload]] = {
    workload.kind: workload
    for workload in (
        Workload("Pod", "", ("v1",), "pods", ((),)),
        Workload("Deployment", "apps", ("v1",), "deployments", _TEMPLATE),
        Workload("StatefulSet", "apps", ("v1",), "statefulsets", _TEMPLATE),
        Workload("DaemonSet", "apps", ("v1",), "daemonsets", _TEMPLATE),
        Workload("ReplicaSet", "apps", ("v1",), "replicasets", _TEMPLATE),
        Workload("Job", "batch", ("v1",), "jobs", _TEMPLATE, mutable=False),
        Workload("CronJob", "batch", ("v1",), "cronjobs", (_path("spec.jobTemplate.spec.template"),)),
        Workload(
            "JobSet",
            "jobset.x-k8s.io",
            ("v1alpha2",),
            "jobsets",
            (_path("spec.replicatedJobs[].template.spec.template"),),
            builtin=False,
            mutable=False,
        ),
        Workload(
            "LeaderWorkerSet",
            "leaderworkerset.x-k8s.io",
            ("v1",),
            "leaderworkersets",
            (
                _path("spec.leaderWorkerTemplate.leaderTemplate"),
                _path("spec.leaderWorkerTemplate.workerTemplate"),
            ),
            builtin=False,
        ),
        Workload(
            "PyTorchJob",
            "kubeflow.org",
            ("v1",),
            "pytorchjobs",
            (_path("spec.pytorchReplicaSpecs{}.template"),),
            builtin=False,
            mutable=False,
        ),
        Workload(
            "TrainJob",
            "trainer.kubeflow.org",
            ("v1alpha1",),
            "trainjobs",
            (
                _path(
                    "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[]"
                    ".template.spec.template"
                ),
            ),
            builtin=False,
            mutable=False,
            fields=_TRAIN_JOB_SPEC,
            container_fields=_TRAIN_JOB_CONTAINER,
        ),
        Workload(
            "RayCluster",
            "ray.io",
            ("v1", "v1alpha1"),
            "rayclusters",
            (_path("spec.headGroupSpec.template"), _path("spec.workerGroupSpecs[].template")),
            builtin=False,
        ),
        Workload(
            "RayJob",
            "ray.io",
            ("v1", "v1alpha1"),
            "rayjobs",
            (
                _path("spec.rayClusterSpec.headGroupSpec.template"),
                _path("spec.rayClusterSpec.workerGroupSpecs[].template"),
                _path("spec.submitterPodTemplate"),
            ),
            builtin=False,
        ),
    )
}
