"""Selective scans in fp32 with 16 states: the NKI tutorial's mamba and Autocomp's.

Channels are on partitions, the sequence is free. Rows of B and C are spread over the partitions
by products with a row of ones.
"""

from collections.abc import Sequence

from benchmarks.calibration.builder import Index, Kernel, Tensor, Tile, View

STATES = 16
F = 512
SLOTS = 2


class _Scan:
    """The buffers of one state's scan over F elements, and its instructions."""

    def __init__(self, k: Kernel, sequence: int, through_sbuf: bool) -> None:
        self.k = k
        self.b, self.c = (k.input(STATES, sequence) for _ in "BC")
        self.ones = k.sbuf(128, rows=1)
        k.memset(self.ones())
        self.rows = [[k.sbuf(F, rows=1) for _ in "BC"] for _ in range(SLOTS)]
        self.banks = [[k.psum(F) for _ in "BC"] for _ in range(SLOTS)]
        self.wide = [[k.sbuf(F) for _ in "BC"] for _ in range(SLOTS)] if through_sbuf else []
        self.decay = [k.sbuf(F) for _ in range(SLOTS)]
        self.scanned = [k.sbuf(F) for _ in range(SLOTS)]
        self.update, self.product = k.sbuf(F), k.sbuf(F)

    def load(self, state: Index | int, at: Index | int, slot: int) -> None:
        """Rows of B and C."""
        for tensor, row in zip((self.b, self.c), self.rows[slot], strict=True):
            self.k.load(row(), tensor(state, 1, at, F))

    def _spread(self, which: int, slot: int) -> View:
        bank = self.banks[slot][which]()
        self.k.matmul(bank, self.ones(), self.rows[slot][which]())
        if not self.wide:
            return bank
        self.k.act(self.wide[slot][which](), bank)
        return self.wide[slot][which]()

    def run(
        self,
        slot: int,
        delta: View,
        a: View,
        delta_u: View,
        total: View,
        initial: View | None = None,
    ) -> None:
        """One state: total += scan(exp(delta * a), delta_u * B) * C."""
        k = self.k
        decay, scanned = self.decay[slot](), self.scanned[slot]()
        k.act(decay, delta, "exp", scale=a)
        k.tensor_tensor(self.update(), delta_u, self._spread(0, slot), "multiply")
        k.emit(
            "tensor_tensor_scan",
            "dve",
            [scanned],
            [decay, self.update(), initial],
            op0="multiply",
            op1="add",
            initial=0.0,
        )
        if initial is not None:
            k.copy(initial, self.scanned[slot](1, at=F - 1))
        k.tensor_tensor(self.product(), scanned, self._spread(1, slot), "multiply")
        k.tensor_tensor(total, total, self.product())


def _arguments(k: Kernel, channels: int, sequence: int) -> Sequence[Tensor]:
    """delta, u, A and the result."""
    wide = [k.input(channels, sequence) for _ in range(2)]
    return [*wide, k.input(channels, STATES), k.output(channels, sequence)]


def states_outside() -> Kernel:
    """Tutorial version 1, 256 channels: states outside, all that it reads loaded again."""
    k = Kernel()
    delta, u, a, out = _arguments(k, 256, F)
    scan = _Scan(k, F, through_sbuf=True)
    totals = [k.sbuf(F) for _ in range(2)]
    tiles = [[k.sbuf(F) for _ in range(3)] for _ in range(SLOTS)]
    columns = [k.sbuf(1) for _ in range(SLOTS)]
    for total in totals:
        k.memset(total())
    with k.loop(STATES) as state:
        for slot in range(2):
            x, y, xy = tiles[slot]
            k.load(x(), delta(128 * slot, 128, 0, F))
            k.load(y(), u(128 * slot, 128, 0, F))
            k.load(columns[slot](), a(128 * slot, 128, state, 1))
            scan.load(state, 0, slot)
            k.tensor_tensor(xy(), x(), y(), "multiply")
            scan.run(slot, x(), columns[slot](), xy(), totals[slot]())
    for slot in range(2):
        k.store(out(128 * slot, 128, 0, F), totals[slot]())
    return k


def channels_outside() -> Kernel:
    """Tutorial version 2, 4096 channels: channels outside, delta and u loaded once."""
    k = Kernel()
    delta, u, a, out = _arguments(k, 4096, F)
    scan = _Scan(k, F, through_sbuf=False)
    tiles = [[k.sbuf(F) for _ in range(4)] for _ in range(SLOTS)]
    columns = [k.sbuf(1) for _ in range(SLOTS)]
    for channel, turn in k.rounds(32, SLOTS):
        x, y, xy, total = tiles[turn]
        k.memset(total())
        k.load(x(), delta(channel * 128, 128, 0, F))
        k.load(y(), u(channel * 128, 128, 0, F))
        k.tensor_tensor(xy(), x(), y(), "multiply")
        for state, slot in k.rounds(STATES, SLOTS):
            k.load(columns[slot](), a(channel * 128, 128, state, 1))
            scan.load(state, 0, slot)
            scan.run(slot, x(), columns[slot](), xy(), total())
        k.store(out(channel * 128, 128, 0, F), total())
    return k


def long_sequence(steps: int = 8192) -> Kernel:
    """Tutorial version 3, 4096 channels: scans of 512 steps carry on from the last."""
    k = Kernel()
    delta, u, a, out = _arguments(k, 4096, steps)
    scan = _Scan(k, steps, through_sbuf=False)
    x, y, total = (k.sbuf(steps) for _ in range(3))
    column, carry = k.sbuf(1), k.sbuf(1)
    with k.loop(32) as channel:
        k.memset(total())
        k.load(x(), delta(channel * 128, 128, 0, steps))
        k.load(y(), u(channel * 128, 128, 0, steps))
        for chunk, _ in k.rounds(steps // F, 2):
            part = y(F, at=chunk * F)
            k.tensor_tensor(part, x(F, at=chunk * F), part, "multiply")
        with k.loop(STATES) as state:
            k.load(column(), a(channel * 128, 128, state, 1))
            k.memset(carry())
            for chunk, slot in k.rounds(steps // F, SLOTS):
                at = chunk * F
                scan.load(state, at, slot)
                scan.run(slot, x(F, at=at), column(), y(F, at=at), total(F, at=at), carry())
        k.store(out(channel * 128, 128, 0, steps), total())
    return k


def autocomp() -> Kernel:
    """Autocomp version 7: 256 channels, 2048 steps, sums in PSUM, rows loaded one state ahead."""
    k = Kernel()
    steps = 2048
    delta, u, a, out = _arguments(k, 256, steps)
    scan = _Scan(k, steps, through_sbuf=False)
    tables = [k.sbuf(STATES) for _ in range(2)]
    carries = [k.sbuf(STATES) for _ in range(2)]
    tiles: list[list[Tile]] = [[k.sbuf(F) for _ in range(4)] for _ in range(SLOTS)]
    totals = [k.psum(F) for _ in range(SLOTS)]
    for channel in range(2):
        k.load(tables[channel](), a(128 * channel, 128, 0, STATES))
        k.memset(carries[channel]())
        for chunk, turn in k.rounds(steps // F, SLOTS):
            x, y, xy, result = tiles[turn]
            k.load(x(), delta(128 * channel, 128, chunk * F, F))
            k.load(y(), u(128 * channel, 128, chunk * F, F))
            k.tensor_tensor(xy(), x(), y(), "multiply")
            k.memset(totals[turn]())
            for state, slot in k.rounds(STATES, SLOTS):
                scan.load(state, chunk * F, slot)
                column = tables[channel](1, at=state)
                carry = carries[channel](1, at=state)
                scan.run(slot, x(), column, xy(), totals[turn](), carry)
            k.copy(result(), totals[turn]())
            k.store(out(128 * channel, 128, chunk * F, F), result())
    return k
