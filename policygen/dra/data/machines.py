"""Machines as inventories describe them: which accelerators they hold and how these are wired.

Layouts follow the vendors' system topologies (`nvidia-smi topo`, `rocm-smi --showtopo`): NUMA node and PCIe
root of every device, and which of them are joined by NVLink or its like.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A MIG profile of one product: what an instance gets, and at which memory slices it may start."""

    name: str
    memory: str
    multiprocessors: int
    copy_engines: int
    decoders: int
    jpeg_engines: int
    ofa_engines: int
    profile_id: int
    starts: tuple[int, ...]
    slices: int


@dataclass(frozen=True, slots=True)
class Machine:
    """One node's accelerators. The lists have one entry a device."""

    title: str
    driver: str
    product: str
    numa: tuple[int, ...]
    roots: tuple[str, ...]
    bus: tuple[str, ...]
    links: tuple[tuple[int, ...], ...] = ()
    device_type: str = "gpu"
    mig: tuple[MigProfile, ...] = ()
    static_mig: tuple[int, ...] = ()
    partitions: int = 1
    nics: bool = False
    values: dict[str, str | int | bool] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


_ALL_EIGHT = ((0, 1, 2, 3, 4, 5, 6, 7),)
_HALVES = (0, 0, 0, 0, 1, 1, 1, 1)

H100_MIG = (
    MigProfile("1g.10gb", "9984Mi", 16, 1, 1, 1, 0, 19, (0, 1, 2, 3, 4, 5, 6), 1),
    MigProfile("1g.20gb", "20096Mi", 26, 1, 1, 1, 0, 15, (0, 2, 4, 6), 2),
    MigProfile("2g.20gb", "20096Mi", 32, 2, 2, 2, 0, 14, (0, 2, 4), 2),
    MigProfile("3g.40gb", "40448Mi", 60, 3, 3, 3, 0, 9, (0, 4), 4),
    MigProfile("4g.40gb", "40448Mi", 64, 4, 4, 4, 0, 5, (0,), 4),
    MigProfile("7g.80gb", "81152Mi", 132, 8, 7, 7, 1, 0, (0,), 8),
)
A100_MIG = (
    MigProfile("1g.10gb", "9728Mi", 14, 1, 0, 0, 0, 19, (0, 1, 2, 3, 4, 5, 6), 1),
    MigProfile("2g.20gb", "19968Mi", 28, 2, 1, 0, 0, 14, (0, 2, 4), 2),
    MigProfile("3g.40gb", "40192Mi", 42, 3, 2, 0, 0, 9, (0, 4), 4),
    MigProfile("7g.80gb", "81024Mi", 98, 7, 5, 1, 1, 0, (0,), 8),
)

_H100_BUS = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
_H100_ROOTS = tuple(f"pci0000:{bus}" for bus in ("15", "3d", "4c", "5b", "97", "bd", "cb", "d9"))
_A100_BUS = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
_A100_NUMA = (3, 3, 1, 1, 7, 7, 5, 5)
_A100_ROOTS = tuple(f"pci0000:{bus}" for bus in ("00", "00", "40", "40", "80", "80", "b0", "b0"))

MACHINES: dict[str, Machine] = {
    "dgx-a100": Machine(
        "NVIDIA DGX A100: 8 × A100 80 GB, two GPUs a PCIe root and NUMA node, NVSwitch",
        "gpu.nvidia.com",
        "NVIDIA A100-SXM4-80GB",
        _A100_NUMA,
        _A100_ROOTS,
        _A100_BUS,
        _ALL_EIGHT,
    ),
    "dgx-a100-40": Machine(
        "NVIDIA DGX A100 40 GB: 8 × A100 40 GB, two GPUs a PCIe root and NUMA node, NVSwitch",
        "gpu.nvidia.com",
        "NVIDIA A100-SXM4-40GB",
        _A100_NUMA,
        _A100_ROOTS,
        _A100_BUS,
        _ALL_EIGHT,
    ),
    "dgx-a100-mig": Machine(
        "NVIDIA DGX A100: four full GPUs, four cut into seven 1g.10gb each (static MIG)",
        "gpu.nvidia.com",
        "NVIDIA A100-SXM4-80GB",
        _A100_NUMA,
        _A100_ROOTS,
        _A100_BUS,
        _ALL_EIGHT,
        mig=A100_MIG,
        static_mig=(4, 5, 6, 7),
    ),
    "dgx-h100": Machine(
        "NVIDIA DGX H100: 8 × H100 80 GB, four GPUs a NUMA node, a PCIe root each, NVSwitch",
        "gpu.nvidia.com",
        "NVIDIA H100 80GB HBM3",
        _HALVES,
        _H100_ROOTS,
        _H100_BUS,
        _ALL_EIGHT,
    ),
    "dgx-h100-mig": Machine(
        "NVIDIA DGX H100 with dynamic MIG: every profile of every GPU as a partition with shared counters",
        "gpu.nvidia.com",
        "NVIDIA H100 80GB HBM3",
        _HALVES,
        _H100_ROOTS,
        _H100_BUS,
        _ALL_EIGHT,
        mig=H100_MIG,
    ),
    "dgx-h100-rdma": Machine(
        "NVIDIA DGX H100 with eight ConnectX-7 of DRANET, one beside each GPU",
        "gpu.nvidia.com",
        "NVIDIA H100 80GB HBM3",
        _HALVES,
        _H100_ROOTS,
        _H100_BUS,
        _ALL_EIGHT,
        nics=True,
    ),
    "gb200-nvl72": Machine(
        "NVIDIA GB200 NVL72 tray: 4 × GB200, the NVLink domain spans the rack (node label)",
        "gpu.nvidia.com",
        "NVIDIA GB200",
        (0, 0, 1, 1),
        ("pci0008:00", "pci0009:00", "pci0018:00", "pci0019:00"),
        ("01", "01", "01", "01"),
        ((0, 1, 2, 3),),
        labels={"nvidia.com/gpu.clique": "5a1f7c0e-1d3b-4c55-9a7e-2f5b6c7d8e9f.1"},
    ),
    "t4": Machine(
        "cloud machine with 4 × T4 on one NUMA node, no NVLink",
        "gpu.nvidia.com",
        "Tesla T4",
        (0, 0, 0, 0),
        ("pci0000:00",) * 4,
        ("04", "05", "06", "07"),
    ),
    "mi300x": Machine(
        "AMD Instinct MI300X platform: 8 × MI300X, four a NUMA node, Infinity Fabric mesh",
        "gpu.amd.com",
        "AMD_Instinct_MI300X_OAM",
        _HALVES,
        tuple(f"pci0000:{bus}" for bus in ("00", "20", "40", "60", "80", "a0", "c0", "e0")),
        ("05", "26", "46", "65", "85", "a6", "c6", "e5"),
        _ALL_EIGHT,
        values={"partitionProfile": "spx_nps1", "deviceID": "0x74a1"},
    ),
    "mi300x-cpx": Machine(
        "AMD Instinct MI300X platform in CPX mode: eight partitions a GPU",
        "gpu.amd.com",
        "AMD_Instinct_MI300X_OAM",
        _HALVES,
        tuple(f"pci0000:{bus}" for bus in ("00", "20", "40", "60", "80", "a0", "c0", "e0")),
        ("05", "26", "46", "65", "85", "a6", "c6", "e5"),
        _ALL_EIGHT,
        device_type="partition",
        partitions=8,
        values={"partitionProfile": "cpx_nps4", "deviceID": "0x74a1"},
    ),
    "intel-max": Machine(
        "server with 4 × Intel Data Center GPU Max 1550",
        "gpu.intel.com",
        "Max 1550",
        (0, 0, 1, 1),
        ("pci0000:37", "pci0000:48", "pci0000:b5", "pci0000:c6"),
        ("3a", "4b", "b8", "c9"),
        ((0, 1, 2, 3),),
        values={"driver": "xe", "pciId": "0x0bd5"},
    ),
    "gaudi3": Machine(
        "Intel Gaudi 3 server: 8 × Gaudi3",
        "gaudi.intel.com",
        "Gaudi3",
        _HALVES,
        tuple(f"pci0000:{bus}" for bus in ("15", "26", "37", "48", "97", "a7", "b7", "c7")),
        ("19", "33", "3a", "4d", "9a", "b3", "bb", "cc"),
        _ALL_EIGHT,
        device_type="gaudi",
    ),
    "tpu-v5p": Machine(
        "Google Cloud TPU v5p host: 4 chips",
        "tpu.google.com",
        "tpu-v5p-slice",
        (0, 0, 1, 1),
        ("pci0000:00",) * 4,
        ("05", "06", "07", "08"),
        ((0, 1, 2, 3),),
        device_type="tpu",
        values={"topology": "2x2x1"},
        labels={
            "cloud.google.com/gke-tpu-accelerator": "tpu-v5p-slice",
            "cloud.google.com/gke-tpu-topology": "2x2x1",
        },
    ),
    "ascend-910b": Machine(
        "Huawei Atlas 800: 8 × Ascend 910B3, cores and memory shared",
        "ascend.project-hami.io",
        "Ascend910B3",
        (0, 0, 2, 2, 4, 4, 6, 6),
        tuple(f"pci0000:{bus}" for bus in ("00", "00", "40", "40", "80", "80", "c0", "c0")),
        ("01", "02", "41", "42", "81", "82", "c1", "c2"),
        _ALL_EIGHT,
        device_type="npu",
    ),
    "cpu": Machine(
        "two-socket server, CPUs grouped by NUMA node",
        "dra.cpu",
        "",
        (0, 1),
        ("", ""),
        ("", ""),
        device_type="cpu",
    ),
    "example": Machine(
        "the example driver's eight imaginary GPUs",
        "gpu.example.com",
        "LATEST-GPU-MODEL",
        (0,) * 8,
        ("",) * 8,
        ("",) * 8,
    ),
}
"""Profile -> machine."""

MIXED = ("t4", "dgx-a100-40", "dgx-a100", "dgx-h100", "mi300x")
"""What the profile `mixed` puts side by side."""
