"""Intel GPUs and Gaudi accelerators.

Read from intel-resource-drivers-for-kubernetes `cmd/kubelet-gpu-plugin/node_state.go` and
`cmd/kubelet-gaudi-plugin/node_state.go`.
"""

from __future__ import annotations

from policygen.dra.data.model import Attribute, Capacity, DeviceClass, DeviceType, Driver, Product

_PCIE_ROOT = Attribute("resource.kubernetes.io/pcieRoot", "string", "pci0000:37", words=("pcieRoot",))

GPU = Driver(
    name="gpu.intel.com",
    title="Intel GPU",
    releases=("0.8", "0.9", "1.0"),
    device_types=(
        DeviceType(
            "gpu",
            (
                Attribute("model", "string", "Max 1550", words=("productName",)),
                Attribute("family", "string", "Data Center Max"),
                Attribute("driver", "string", "xe", values=("i915", "xe", "vfio-pci")),
                Attribute("sriov", "bool", True),
                Attribute("pciId", "string", "0x0bd5", words=("deviceID",)),
                Attribute("health", "string", "Healthy", values=("Healthy", "Unhealthy"), since="0.9"),
                Attribute("pciAddress", "string", "0000:3a:00.0", until="0.9", words=("pciBusID",)),
                Attribute("pciRoot", "string", "37", optional=True, until="0.9", note="the bus alone"),
                _PCIE_ROOT,
                Attribute(
                    "resource.kubernetes.io/pciBusID",
                    "string",
                    "0000:3a:00.0",
                    words=("pciBusID",),
                    since="0.9",
                ),
            ),
            (Capacity("memory", "131072Mi"), Capacity("millicores", "1k")),
        ),
    ),
    classes=(
        DeviceClass("gpu.intel.com", "gpu", "device.driver == 'gpu.intel.com'"),
        DeviceClass(
            "gpu-vfio.intel.com",
            "gpu",
            "device.driver == 'gpu.intel.com' && device.attributes['gpu.intel.com'].driver == 'vfio-pci'",
        ),
    ),
    products=(
        Product("Max 1100", "49152Mi", {"family": "Data Center Max"}),
        Product("Max 1550", "131072Mi", {"family": "Data Center Max"}),
        Product("Flex 170", "16384Mi", {"family": "Data Center Flex"}),
        Product("Arc Pro B60", "24576Mi", {"family": "Arc Pro"}),
    ),
    sources=("intel/intel-resource-drivers-for-kubernetes cmd/kubelet-gpu-plugin/node_state.go",),
    notes={
        "numaNode": "the driver publishes no NUMA node: align on `resource.kubernetes.io/pcieRoot` instead",
        "driverVersion": "the driver publishes the kernel driver's name, not its version",
    },
)

GAUDI = Driver(
    name="gaudi.intel.com",
    title="Intel Gaudi",
    releases=("0.5", "0.6", "1.0"),
    device_types=(
        DeviceType(
            "gaudi",
            (
                Attribute(
                    "model", "string", "Gaudi3", words=("productName",), values=("Gaudi", "Gaudi2", "Gaudi3")
                ),
                Attribute("serial", "string", "AN00000001", words=("uuid",)),
                Attribute("healthy", "bool", True),
                Attribute("pciRoot", "string", "37", optional=True, until="0.6", note="the bus alone"),
                _PCIE_ROOT,
            ),
        ),
    ),
    classes=(DeviceClass("gaudi.intel.com", "gaudi", "device.driver == 'gaudi.intel.com'"),),
    products=(Product("Gaudi2", "96Gi"), Product("Gaudi3", "128Gi")),
    sources=("intel/intel-resource-drivers-for-kubernetes cmd/kubelet-gaudi-plugin/node_state.go",),
    notes={
        "memory": "the driver publishes no capacity: select by `model`",
        "numaNode": "the driver publishes no NUMA node: align on `resource.kubernetes.io/pcieRoot` instead",
    },
)
