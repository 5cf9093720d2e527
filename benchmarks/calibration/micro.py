"""Single instructions: how far apart their starts are."""

from benchmarks.calibration.builder import Kernel

INSTRUCTIONS = 1024


def dependent_activations() -> Kernel:
    """Activations of one element a partition, each reading the result of the one before."""
    k = Kernel()
    a, b = k.sbuf(1), k.sbuf(1)
    for _ in k.rounds(INSTRUCTIONS // 2, 8):
        k.act(b(), a(), scale=0.5)
        k.act(a(), b(), scale=0.5)
    return k


def independent_products() -> Kernel:
    """Products of three elements a partition, a window in SBUF times a filter in PSUM."""
    k = Kernel()
    image, taps, out = k.sbuf(64), k.psum(3), k.sbuf(3 * 32)
    for _, slot in k.rounds(INSTRUCTIONS, 32):
        k.tensor_tensor(out(3, at=3 * slot), image(3, at=slot), taps(), "multiply")
    return k
