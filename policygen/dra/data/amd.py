"""AMD GPUs and their partitions.

Read from k8s-gpu-dra-driver `cmd/gpu-kubeletplugin/deviceinfo.go`: the state of October 2025 is `1.0`, of
2026 `main`.
"""

from __future__ import annotations

from policygen.dra.data.model import Attribute, Capacity, DeviceClass, DeviceType, Driver, Product

_COMMON = (
    Attribute("productName", "string", "AMD_Instinct_MI300X_OAM", words=("model",)),
    Attribute("driverVersion", "version", "6.10.5", optional=True),
    Attribute(
        "driverVersionFull",
        "string",
        "6.10.5.60200",
        optional=True,
        since="main",
        note="the driver's four-part version, which is no semver",
    ),
    Attribute("driverSrcVersion", "string", "6.10.5-2125197", until="1.0"),
    Attribute("family", "string", "AI", until="1.0"),
    Attribute("cardIndex", "int", 1, until="1.0", words=("index",)),
    Attribute("renderIndex", "int", 128, until="1.0"),
    Attribute("numaNode", "int", 0, since="main", words=("numa",)),
    Attribute("resource.kubernetes.io/pcieRoot", "string", "pci0000:05", optional=True, words=("pcieRoot",)),
    Attribute(
        "resource.kubernetes.io/pciBusID",
        "string",
        "0000:0b:00.0",
        optional=True,
        words=("pciBusID",),
        since="main",
    ),
)
_CAPACITY = (
    Capacity("memory", "196592Mi"),
    Capacity("computeUnits", "304"),
    Capacity("simdUnits", "1216"),
)
_PARTITIONS = ("spx_nps1", "dpx_nps1", "qpx_nps1", "cpx_nps1", "cpx_nps4")

GPU = Driver(
    name="gpu.amd.com",
    title="AMD GPU",
    releases=("1.0", "main"),
    device_types=(
        DeviceType(
            "gpu",
            (
                Attribute("type", "string", "amdgpu", values=("amdgpu",)),
                *_COMMON,
                Attribute("pciAddr", "string", "0000:0b:00.0", until="1.0", words=("pciBusID",)),
                Attribute("deviceID", "string", "0x74a1", optional=True),
                Attribute("partitionProfile", "string", "spx_nps1", optional=True, values=_PARTITIONS),
            ),
            _CAPACITY,
            where=("type", "amdgpu"),
        ),
        DeviceType(
            "partition",
            (
                Attribute("type", "string", "amdgpu-partition", values=("amdgpu-partition",)),
                *_COMMON,
                Attribute("parentPciAddr", "string", "0000:0b:00.0", until="1.0", words=("parent",)),
                Attribute("parentDeviceID", "string", "9360106735226014464", until="1.0"),
                Attribute("deviceID", "string", "0x74a1", optional=True, since="main"),
                Attribute("partitionProfile", "string", "cpx_nps4", values=_PARTITIONS),
            ),
            _CAPACITY,
            where=("type", "amdgpu-partition"),
        ),
        DeviceType(
            "vfio",
            (
                Attribute("type", "string", "vfio", values=("vfio",)),
                Attribute("numaNode", "int", 0, words=("numa",)),
                Attribute("iommuGroup", "string", "42"),
                Attribute("pciAddr", "string", "0000:0b:00.0"),
                Attribute("isVF", "bool", True),
                Attribute(
                    "productName", "string", "AMD_Instinct_MI300X_OAM", optional=True, words=("model",)
                ),
                Attribute("deviceID", "string", "0x74b5", optional=True),
                Attribute("vendorID", "string", "0x1002", optional=True),
                Attribute(
                    "resource.kubernetes.io/pciBusID",
                    "string",
                    "0000:0b:00.0",
                    optional=True,
                    words=("pciBusID",),
                ),
                Attribute(
                    "resource.kubernetes.io/pcieRoot",
                    "string",
                    "pci0000:05",
                    optional=True,
                    words=("pcieRoot",),
                ),
            ),
            where=("type", "vfio"),
            since="main",
        ),
    ),
    classes=(DeviceClass("gpu.amd.com", "gpu", "device.driver == 'gpu.amd.com'"),),
    products=(
        Product("AMD_Instinct_MI210", "65520Mi", {"computeUnits": 104, "simdUnits": 416}),
        Product("AMD_Instinct_MI250X", "65520Mi", {"computeUnits": 110, "simdUnits": 440}),
        Product("AMD_Instinct_MI300X_OAM", "196592Mi", {"computeUnits": 304, "simdUnits": 1216}),
        Product("AMD_Instinct_MI325X_OAM", "262128Mi", {"computeUnits": 304, "simdUnits": 1216}),
    ),
    other_products=(
        "AMD_Instinct_MI100",
        "AMD_Instinct_MI250",
        "AMD_Instinct_MI300A",
        "AMD_Instinct_MI308X",
        "AMD_Instinct_MI350X",
        "AMD_Instinct_MI355X",
    ),
    sources=("ROCm/k8s-gpu-dra-driver cmd/gpu-kubeletplugin/deviceinfo.go",),
    notes={
        "numaNode": "published as `gpu.amd.com/numaNode` by newer releases, not under the standard name",
        "deviceID": "1.0 publishes `parentDeviceID` on partitions: `matchAttribute: gpu.amd.com/deviceID` "
        "never holds for them",
    },
)
