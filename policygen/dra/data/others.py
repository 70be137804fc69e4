"""Google TPU, Huawei Ascend, CPU, DRANET and the example driver."""

from __future__ import annotations

from policygen.dra.data.model import Attribute, Capacity, DeviceClass, DeviceType, Driver, Product

TPU = Driver(
    name="tpu.google.com",
    title="Google TPU",
    releases=("0.1", "main"),
    device_types=(
        DeviceType(
            "tpu",
            (
                Attribute("index", "int", 0),
                Attribute("uuid", "string", "tpu-25541d5c-7c31-8412-d7cb-c8ebff2fa5c9"),
                Attribute(
                    "tpuGen", "string", "v5p", words=("generation",), values=("v4", "v5e", "v5p", "v6e", "7x")
                ),
                Attribute("brand", "string", "Google"),
                Attribute(
                    "accelerator", "string", "tpu-v5p-slice", words=("productName", "model"), since="main"
                ),
                Attribute("chipCount", "int", 4, since="main"),
                Attribute("topology", "string", "2x2x1", optional=True, since="main"),
            ),
        ),
    ),
    classes=(DeviceClass("tpu.google.com", "tpu", "device.driver == 'tpu.google.com'"),),
    products=(
        Product("tpu-v4-podslice", "32Gi", {"tpuGen": "v4"}),
        Product("tpu-v5p-slice", "95Gi", {"tpuGen": "v5p"}),
        Product("tpu-v6e-slice", "32Gi", {"tpuGen": "v6e"}),
    ),
    sources=("kubernetes-sigs/dra-driver-google-tpu cmd/tpu-dra-kubeletplugin/manager.go",),
    notes={
        "memory": "the driver publishes no capacity: select by `tpuGen` or `accelerator`",
        "numaNode": "the driver publishes no NUMA node; a claim must take all chips of a node anyway",
        "pcieRoot": "the driver publishes no PCIe root; a claim must take all chips of a node anyway",
    },
)

ASCEND = Driver(
    name="ascend.project-hami.io",
    title="Huawei Ascend NPU",
    releases=("main",),
    device_types=(
        DeviceType(
            "npu",
            (
                Attribute("index", "int", 0),
                Attribute("physicalID", "int", 0),
                Attribute("uuid", "string", "A0000000-00000000-00000000"),
                Attribute("model", "string", "910B3"),
                Attribute("productName", "string", "Ascend910B3"),
                Attribute("brand", "string", "Huawei"),
                Attribute("type", "string", "HAMivNPUCore"),
                Attribute("cores", "int", 20, optional=True, note="vNPU mode only"),
                Attribute(
                    "memory", "int", 65536, optional=True, note="vNPU mode only; in Mi, use the capacity"
                ),
            ),
            (Capacity("memory", "64Gi", consumable=True), Capacity("cores", "100", consumable=True)),
        ),
    ),
    classes=(
        DeviceClass(
            "hami-vnpu-core.project-hami.io",
            "npu",
            "device.driver == 'ascend.project-hami.io' && "
            "device.attributes['ascend.project-hami.io'].type == 'HAMivNPUCore'",
        ),
    ),
    products=(
        Product("Ascend310P", "24Gi"),
        Product("Ascend910B3", "64Gi"),
        Product("Ascend910B4", "32Gi"),
    ),
    sources=("Project-HAMi/ascend-dra-driver pkg/consts/consts.go",),
    notes={
        "numaNode": "the driver publishes no NUMA node",
        "pcieRoot": "the driver publishes no PCIe root",
        "driverVersion": "the driver publishes no version",
    },
)

CPU = Driver(
    name="dra.cpu",
    title="CPU",
    releases=("0.1", "main"),
    device_types=(
        DeviceType(
            "cpu",
            (
                Attribute("numaNodeID", "int", 0, words=("numaNode", "numa")),
                Attribute("socketID", "int", 0, words=("socket",)),
                Attribute("smtEnabled", "bool", True),
                Attribute("cacheL3ID", "int", 0, optional=True),
                Attribute("coreType", "string", "standard", optional=True),
                Attribute("coreID", "int", 0, optional=True, note="individual mode only"),
                Attribute("cpuID", "int", 0, optional=True, note="individual mode only"),
                Attribute("numCPUs", "int", 64, optional=True, note="grouped mode only"),
                Attribute("dra.net/numaNode", "int", 0),
                Attribute("resource.kubernetes.io/numaNode", "int", 0, optional=True, since="main"),
            ),
            (Capacity("cpu", "64", optional=True, consumable=True, note="grouped mode only"),),
        ),
    ),
    classes=(DeviceClass("dra.cpu", "cpu", "device.driver == 'dra.cpu'"),),
    sources=("kubernetes-sigs/dra-driver-cpu pkg/device/attributes.go",),
    notes={"memory": "a CPU device has no memory capacity"},
)

DRANET = Driver(
    name="dra.net",
    title="DRANET network interface",
    releases=("0.5", "1.0", "main"),
    device_types=(
        DeviceType(
            "interface",
            (
                Attribute("ifName", "string", "eth1"),
                Attribute("mac", "string", "00:11:22:33:44:55"),
                Attribute("pciAddress", "string", "0000:8a:00.0", optional=True, words=("pciBusID",)),
                Attribute("pciVendor", "string", "Mellanox Technologies", optional=True),
                Attribute(
                    "pciDevice", "string", "MT2910 Family [ConnectX-7]", optional=True, words=("productName",)
                ),
                Attribute("pciSubsystem", "string", "0x0023", optional=True),
                Attribute("numaNode", "int", 0, optional=True, words=("numa",)),
                Attribute("mtu", "int", 1500),
                Attribute("encapsulation", "string", "ether"),
                Attribute("alias", "string", "", optional=True),
                Attribute("state", "string", "up"),
                Attribute("type", "string", "device"),
                Attribute("ipv4", "string", "10.0.0.2", optional=True),
                Attribute("ipv6", "string", "fd00::2", optional=True),
                Attribute("tcFilterNames", "string", "", optional=True),
                Attribute("tcxProgramNames", "string", "", optional=True),
                Attribute("ebpf", "bool", False),
                Attribute("sriov", "bool", False),
                Attribute("sriovVfs", "int", 0, optional=True),
                Attribute("virtual", "bool", False),
                Attribute("rdma", "bool", True),
                Attribute(
                    "resource.kubernetes.io/pcieRoot",
                    "string",
                    "pci0000:88",
                    optional=True,
                    words=("pcieRoot",),
                ),
                Attribute("gce.dra.net/block", "string", "b1", optional=True),
                Attribute("gce.dra.net/subBlock", "string", "s1", optional=True),
                Attribute("gce.dra.net/host", "string", "h1", optional=True),
                Attribute("gce.dra.net/networkName", "string", "rdma-0", optional=True),
                Attribute("gce.dra.net/machineType", "string", "a3-ultragpu-8g", optional=True),
            ),
        ),
    ),
    classes=(DeviceClass("dranet", "interface", "device.driver == 'dra.net'"),),
    sources=("google/dranet pkg/apis/attributes.go",),
)

EXAMPLE = Driver(
    name="gpu.example.com",
    title="example GPU",
    releases=("0.1", "main"),
    device_types=(
        DeviceType(
            "gpu",
            (
                Attribute("index", "int", 0),
                Attribute("uuid", "string", "gpu-18db0e85-99e9-c746-8531-ffeb86328b39"),
                Attribute("model", "string", "LATEST-GPU-MODEL", words=("productName",)),
                Attribute("driverVersion", "version", "1.0.0"),
            ),
            (Capacity("memory", "80Gi"),),
        ),
    ),
    classes=(DeviceClass("gpu.example.com", "gpu", "device.driver == 'gpu.example.com'"),),
    products=(Product("LATEST-GPU-MODEL", "80Gi"),),
    sources=("kubernetes-sigs/dra-example-driver internal/profiles/gpu/gpu.go",),
    notes={"numaNode": "the driver publishes no NUMA node", "pcieRoot": "the driver publishes no PCIe root"},
)
