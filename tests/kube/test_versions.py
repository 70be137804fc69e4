"""What exists since when."""

import pytest

from policygen.diagnostics import PolicygenError
from policygen.kube import versions

MAP = "MutatingAdmissionPolicy"
GROUP = "admissionregistration.k8s.io"


@pytest.mark.parametrize(("text", "version"), [("1.36", "1.36"), ("v1.35", "1.35"), (" 1.34.7 ", "1.34")])
def test_versions_as_people_write_them(text, version):
    assert versions.parse(text) == version


@pytest.mark.parametrize("text", ["1.33", "2", "1.36.x", "latest", "", "1.36.1.1"])
def test_other_versions_are_errors(text):
    with pytest.raises(PolicygenError):
        versions.parse(text)


def test_kinds():
    assert versions.kind_missing(f"{GROUP}/v1", MAP, "1.36") is None
    assert versions.kind_missing(f"{GROUP}/v1", MAP, "1.34") == (
        f"Kubernetes 1.34 has no `{MAP}` in `{GROUP}/v1`; 1.36 has it, 1.34 has `{GROUP}/v1beta1`"
    )
    assert versions.preferred(MAP, "1.34") == f"{GROUP}/v1beta1"
    assert versions.preferred(MAP, "1.36") == f"{GROUP}/v1"
    assert versions.preferred("DeviceTaintRule", "1.37") == "resource.k8s.io/v1"
    assert versions.preferred("Nope", "1.37") is None
    assert not versions.served_by_default(f"{GROUP}/v1beta1", "1.34")
    assert versions.served_by_default("apps/v1", "1.34")


def test_fields():
    assert versions.field_missing("v1", "Pod", "spec.hostUsers", "1.34") is None
    assert versions.field_missing("v1", "Pod", "spec.schedulingGroup", "1.34") == (
        "Kubernetes 1.34 has no field `spec.schedulingGroup` in `v1` `Pod`; 1.36 has it"
    )


def test_features():
    assert versions.feature_missing("DRAExtendedResource", "1.36") is None
    assert versions.feature_missing("DRAExtendedResource", "1.35") == (
        "Kubernetes 1.35 has, but turns off by default, the feature `DRAExtendedResource`; it is on from 1.36"
    )
    assert versions.feature_missing("DRAListTypeAttributes", "1.34") == (
        "Kubernetes 1.34 does not have the feature `DRAListTypeAttributes`; no supported version turns it on"
    )
    assert versions.enabled_since(MAP) == "1.36"
    assert versions.at_least("1.36", "1.35")
    assert [version for version in versions.SUPPORTED if not versions.is_recorded(version)] == ["1.37"]
