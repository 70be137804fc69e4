"""NVIDIA: full GPUs, MIG devices, VFIO devices and compute domains.

Read from dra-driver-nvidia-gpu `cmd/gpu-kubelet-plugin/{deviceinfo,mig,partitions}.go` and its page
"ResourceSlice device attributes"; `main` is the state of August 2026.
"""

from __future__ import annotations

from policygen.dra.data.model import Attribute, Capacity, DeviceClass, DeviceType, Driver, Product

_PCIE_ROOT = Attribute(
    "resource.kubernetes.io/pcieRoot",
    "string",
    "pci0000:64",
    optional=True,
    words=("pcieRoot",),
    since="25.8",
)
_PCI_BUS_ID = Attribute(
    "resource.kubernetes.io/pciBusID",
    "string",
    "0000:65:00.0",
    optional=True,
    words=("pciBusID",),
    since="25.12",
)
_NUMA_NODE = Attribute(
    "resource.kubernetes.io/numaNode",
    "int",
    0,
    optional=True,
    words=("numaNode", "numa"),
    since="main",
    note="left out when the PCI device has no NUMA node; a list of ints behind DRAListTypeAttributes",
)
_COMMON = (
    Attribute("productName", "string", "NVIDIA A100-SXM4-80GB", words=("model",)),
    Attribute("brand", "string", "Nvidia"),
    Attribute(
        "architecture",
        "string",
        "Ampere",
        values=("Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"),
    ),
    Attribute("cudaComputeCapability", "version", "8.0.0", words=("computeCapability",)),
    Attribute("driverVersion", "version", "580.126.20"),
    Attribute("cudaDriverVersion", "version", "13.0.0", words=("cudaVersion",)),
    _PCIE_ROOT,
    _PCI_BUS_ID,
    _NUMA_NODE,
    Attribute("addressingMode", "string", "HMM", optional=True, since="25.12"),
)
_INDEXES = (
    Attribute("index", "int", 0, until="25.8"),
    Attribute("minor", "int", 0, until="25.8"),
)
_ENGINES = ("copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
_FABRIC = (
    Attribute("gpuModuleId", "int", 1, optional=True, since="main"),
    *(Attribute(f"partition{size}", "int", 1, optional=True, since="main") for size in (1, 2, 4, 8)),
)
_GPU = DeviceType(
    "gpu",
    (
        Attribute("type", "string", "gpu", values=("gpu",)),
        Attribute("uuid", "string", "GPU-2fa81118-5a5f-aa66-7660-471eed407181"),
        *_COMMON,
        *_INDEXES,
    ),
    (
        Capacity("memory", "81920Mi"),
        Capacity(
            "multiprocessors", "108", optional=True, since="25.12", note="with MIG partition metadata only"
        ),
        *(
            Capacity(name, "1", optional=True, since="25.12", note="with MIG partition metadata only")
            for name in _ENGINES
        ),
    ),
    where=("type", "gpu"),
)
_MIG = DeviceType(
    "mig",
    (
        Attribute("type", "string", "mig", values=("mig",)),
        Attribute(
            "uuid",
            "string",
            "MIG-1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d",
            optional=True,
            note="static MIG devices only; a dynamic one has none before it is created",
        ),
        Attribute("parentUUID", "string", "GPU-2fa81118-5a5f-aa66-7660-471eed407181", words=("parent",)),
        Attribute("profile", "string", "1g.10gb", words=("migProfile",)),
        *_COMMON,
        *_INDEXES,
        Attribute("parentIndex", "int", 0, until="25.8"),
        Attribute("parentMinor", "int", 0, until="25.8"),
    ),
    (
        Capacity("memory", "9856Mi", note="less than the label says: a 1g.10gb has 9856Mi"),
        Capacity("multiprocessors", "14"),
        *(Capacity(name, "0") for name in _ENGINES),
        *(
            Capacity(
                f"memorySlice{slot}", "1", optional=True, note="static MIG devices: the slices they occupy"
            )
            for slot in range(8)
        ),
    ),
    where=("type", "mig"),
)
_VFIO = DeviceType(
    "vfio",
    (
        Attribute("type", "string", "vfio", values=("vfio",)),
        Attribute("uuid", "string", "GPU-2fa81118-5a5f-aa66-7660-471eed407181"),
        Attribute("deviceID", "string", "0x20b0"),
        Attribute("vendorID", "string", "0x10de"),
        Attribute("productName", "string", "NVIDIA A100-SXM4-80GB", words=("model",)),
        Attribute("iommuFDEnabled", "bool", True),
        _PCIE_ROOT,
        _PCI_BUS_ID,
        _NUMA_NODE,
        Attribute("numa", "int", 0, until="25.12"),
        *_FABRIC,
    ),
    (Capacity("addressableMemory", "40Gi", words=("memory",)),),
    where=("type", "vfio"),
    since="25.12",
)


def _product(name: str, memory: str, architecture: str, capability: str, multiprocessors: int) -> Product:
    values: dict[str, str | int | bool] = {
        "architecture": architecture,
        "cudaComputeCapability": capability,
        "multiprocessors": multiprocessors,
    }
    return Product(name, memory, values)


GPU = Driver(
    name="gpu.nvidia.com",
    title="NVIDIA GPU",
    releases=("25.3", "25.8", "25.12", "main"),
    device_types=(_GPU, _MIG, _VFIO),
    classes=(
        DeviceClass(
            "gpu.nvidia.com",
            "gpu",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
            "nvidia.com/gpu",
        ),
        DeviceClass(
            "mig.nvidia.com",
            "mig",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",
        ),
        DeviceClass(
            "vfio.gpu.nvidia.com",
            "vfio",
            "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'",
        ),
    ),
    products=(
        _product("Tesla V100-SXM2-32GB", "32768Mi", "Volta", "7.0.0", 80),
        _product("Tesla T4", "15360Mi", "Turing", "7.5.0", 40),
        _product("NVIDIA A10", "23028Mi", "Ampere", "8.6.0", 72),
        _product("NVIDIA A30", "24576Mi", "Ampere", "8.0.0", 56),
        _product("NVIDIA A100-PCIE-40GB", "40960Mi", "Ampere", "8.0.0", 108),
        _product("NVIDIA A100-SXM4-40GB", "40960Mi", "Ampere", "8.0.0", 108),
        _product("NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere", "8.0.0", 108),
        _product("NVIDIA A100 80GB PCIe", "81920Mi", "Ampere", "8.0.0", 108),
        _product("NVIDIA L4", "23034Mi", "Ada Lovelace", "8.9.0", 58),
        _product("NVIDIA L40S", "46068Mi", "Ada Lovelace", "8.9.0", 142),
        _product("NVIDIA H100 80GB HBM3", "81559Mi", "Hopper", "9.0.0", 132),
        _product("NVIDIA H100 PCIe", "81559Mi", "Hopper", "9.0.0", 114),
        _product("NVIDIA H200", "143771Mi", "Hopper", "9.0.0", 132),
        _product("NVIDIA GH200 480GB", "97871Mi", "Hopper", "9.0.0", 132),
        _product("NVIDIA B200", "183359Mi", "Blackwell", "10.0.0", 148),
        _product("NVIDIA GB200", "189471Mi", "Blackwell", "10.0.0", 152),
    ),
    other_products=(
        "Tesla P100-PCIE-16GB",
        "Tesla V100-PCIE-16GB",
        "Tesla V100-PCIE-32GB",
        "Tesla V100-SXM2-16GB",
        "Quadro RTX 6000",
        "NVIDIA A2",
        "NVIDIA A10G",
        "NVIDIA A16",
        "NVIDIA A40",
        "NVIDIA A800-SXM4-80GB",
        "NVIDIA RTX A6000",
        "NVIDIA L2",
        "NVIDIA L20",
        "NVIDIA L40",
        "NVIDIA RTX 6000 Ada Generation",
        "NVIDIA GeForce RTX 3090",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA GeForce RTX 5090",
        "NVIDIA H20",
        "NVIDIA H800",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "NVIDIA B300 SXM6 AC",
        "NVIDIA GB300",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    ),
    sources=(
        "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go",
        "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/mig.go",
        "kubernetes-sigs/dra-driver-nvidia-gpu site/content/docs/reference/resourceslice-attributes.md",
    ),
    notes={
        "nvlinkDomain": "no driver publishes an NVLink domain: use a node label or a ComputeDomain",
    },
)

COMPUTE_DOMAIN = Driver(
    name="compute-domain.nvidia.com",
    title="NVIDIA compute domain",
    releases=("25.3", "25.8", "25.12", "main"),
    device_types=(
        DeviceType(
            "channel",
            (Attribute("type", "string", "channel", values=("channel",)), Attribute("id", "int", 0)),
            where=("type", "channel"),
        ),
        DeviceType(
            "daemon",
            (Attribute("type", "string", "daemon", values=("daemon",)), Attribute("id", "int", 0)),
            where=("type", "daemon"),
        ),
    ),
    classes=(
        DeviceClass(
            "compute-domain-default-channel.nvidia.com",
            "channel",
            "device.driver == 'compute-domain.nvidia.com' && "
            "device.attributes['compute-domain.nvidia.com'].type == 'channel' && "
            "device.attributes['compute-domain.nvidia.com'].id == 0",
        ),
        DeviceClass(
            "compute-domain-daemon.nvidia.com",
            "daemon",
            "device.driver == 'compute-domain.nvidia.com' && "
            "device.attributes['compute-domain.nvidia.com'].type == 'daemon'",
        ),
    ),
    sources=("kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm",),
)
