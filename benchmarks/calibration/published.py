"""The kernels and their published times (one NeuronCore-v2 of Trainium1)."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.calibration import (
    autocomp,
    batched_softmax,
    conv2d,
    elementwise,
    mamba,
    micro,
    nki_matmul,
    products,
    row_products,
)
from benchmarks.calibration.builder import Kernel
from benchmarks.calibration.vector_add import vector_add


@dataclass(frozen=True)
class Published:
    """A kernel. `latency_us` was measured of a whole run, start-up and tear-down included.

    With `instructions` it is the time from one of so many instructions to the next.
    """

    name: str
    latency_us: float
    make: Callable[[], Kernel]
    source: str
    instructions: int = 0


_CS149 = "Stanford CS149 assignment 4, a student's measurements"
_NKI = "aws-neuron-sdk v2.20.0, NKI tutorials"
_ACCELOPT = "AccelOpt, NKIBench baselines (multiples of 55.6 us)"
_AUTOCOMP = "Autocomp, Trainium kernels"

KERNELS = (
    Published("CS-vadd-rc1", 27404, lambda: vector_add(25600, 1, 1), _CS149),
    Published("CS-vadd-fd2", 53, lambda: vector_add(100, 128, 2), _CS149),
    Published("CS-vadd-fd200", 19, lambda: vector_add(1, 128, 200), _CS149),
    Published("CS-vadd-256k-fd1000", 30, lambda: vector_add(2, 128, 1000), _CS149),
    Published("CS-vadd-256k-fd2000", 34, lambda: vector_add(1, 128, 2000), _CS149),
    Published("NKI-mm-0", 51800, nki_matmul.basic, _NKI),
    Published("NKI-mm-2", 22070, nki_matmul.blocked_free, _NKI),
    Published("NKI-mm-3", 6970, nki_matmul.fully_blocked, _NKI),
    Published("NKI-mamba1-512x256", 172.93, mamba.states_outside, _NKI),
    Published("NKI-mamba2-512x4096", 1610, mamba.channels_outside, _NKI),
    Published("NKI-mamba3-8192x4096", 27800, mamba.long_sequence, _NKI),
    Published("AO-adamw", 1999.8, elementwise.adamw, _ACCELOPT),
    Published("AO-silu", 1333.2, elementwise.silu, _ACCELOPT),
    Published("AO-rope", 4333.0, elementwise.rope, _ACCELOPT),
    Published("AO-bmm", 4610.9, products.batched_matmul, _ACCELOPT),
    Published("AO-rmsnorm_matmul", 1055.8, products.rmsnorm_matmul, _ACCELOPT),
    Published("AO-swiglu", 4221.8, products.swiglu, _ACCELOPT),
    Published("AO-transpose_matmul", 9610.3, products.transposed_matmul, _ACCELOPT),
    Published("AO-matmul_add_rmsnorm", 2666.6, row_products.matmul_add_rmsnorm, _ACCELOPT),
    Published("AO-add_rmsnorm_matmul", 1221.9, row_products.add_rmsnorm_matmul, _ACCELOPT),
    Published("AO-matmul", 35199.7, row_products.matmul, _ACCELOPT),
    Published("AO-bmm_softmax", 11999.6, batched_softmax.batched_softmax, _ACCELOPT),
    Published("CS-conv-f32", 3681, lambda: conv2d.convolution("f32"), _CS149),
    Published("CS-conv-f16", 1060, lambda: conv2d.convolution("f16"), _CS149),
    Published("CS-convpool-f32", 3741, lambda: conv2d.convolution("f32", pool=True), _CS149),
    Published("CS-convpool-f16", 1275, lambda: conv2d.convolution("f16", pool=True), _CS149),
    Published("AC-4_attention-10", 293, autocomp.attention, _AUTOCOMP),
    Published("AC-4_conv1d-6", 461, autocomp.convolution, _AUTOCOMP),
    Published("AC-3_mamba-7", 359, mamba.autocomp, _AUTOCOMP),
    Published(
        "MI-act1",
        0.189,
        micro.dependent_activations,
        "aws-neuron-sdk nki_perf_guide, Opt #5a",
        micro.INSTRUCTIONS,
    ),
    Published(
        "AC-conv1d-tt-instr",
        0.0586,
        micro.independent_products,
        f"{_AUTOCOMP} (the authors' blog)",
        micro.INSTRUCTIONS,
    ),
)
