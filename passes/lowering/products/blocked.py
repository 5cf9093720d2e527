"""Lower dots of arrays in HBM block by block.

A step multiplies a block of rows by a panel of columns over a block of the contraction. The sums of
several steps are kept in SBUF in fp32. Each operand has two buffers, so that the data of the next
step arrives in time. If a single step covers the contraction, the panel stays in SBUF
(resident.py).
"""

from collections.abc import Callable, Sequence

from neuronir.dialects.hlo.linear import DotOp
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.products.block_attribute import plan_of
from neuronir.passes.lowering.products.block_product import BlockProduct
from neuronir.passes.lowering.products.matrices import matrices_of, problem_of
from neuronir.passes.lowering.products.places import Part, Place, spans
from neuronir.passes.lowering.products.resident import Resident
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.statistics import record


def lower_blocked(state: Lowering, op: DotOp, target: Form) -> None:
    """Emit a dot of two matrices (matrices.py) into `target`, which is in HBM."""
    operands, result = matrices_of(state, op, target)
    transposed = operands[0].transposed, operands[1].transposed
    problem = problem_of(op, transposed)
    plan = plan_of(op, transposed, state.machine)
    special = tuple(state.value(v).may_be_special() for v in op.operands)
    name = f"{problem.m}x{problem.k}x{problem.n}"
    shape = f"{plan.block_rows}x{plan.block_depth}x{plan.panel_columns}"
    record("lower-hlo-to-nc", f"products {name} in blocks of {shape}")
    if plan.begin is not None:
        begin = f"{plan.begin.tiles * plan.rows}x{plan.begin.columns * plan.columns}"
        record("lower-hlo-to-nc", f"products {name} begin with {begin}")
    if plan.shared:
        text = f"products {name}: of {plan.depth_tiles} transposes of a tile of rows, by DVE"
        record("lower-hlo-to-nc", text, plan.shared)
    kind = Blocked if plan.counts(problem)[2] > 1 else Resident
    kind(state, problem, plan, operands, result, special).emit()


class Blocked(BlockProduct):
    """A dot of several steps."""

    def emit(self) -> None:
        """Emit the whole dot."""
        apart = self.b.ramp or (self.left.matrix.transposed and self.right.blocks > 1)
        self.panels(apart, 1 + self.steps * self.left.blocks % 2, self._panel)

    def _panel(self, n: Place, columns: int, first: bool) -> None:
        """Emit all rows of a panel of columns; `first` if the left operand is loaded for the first
        time.
        """
        apart = self.right.matrix.transposed
        for span in spans(self.p.m, self.left.block):
            at, count = Place(span.first), span.count
            if (apart or (self.b.ramp and first)) and span.first == 0:
                self._rows(n, columns, at, span.size, first, True, self.b.ramp and first)
                at, count = at.plus(span.size), count - 1
            self.repeat(
                at,
                span.size,
                count,
                1 + self.steps % 2,
                lambda m, rows: self._rows(n, columns, m, rows, first, not apart, False),
            )

    def _rows(
        self,
        n: Place,
        columns: int,
        m: Place,
        rows: int,
        first_left: bool,
        first_right: bool,
        ramp: bool,
    ) -> None:
        """Emit a block of rows of a panel: all steps of the contraction.

        Each step starts by loading the data of the next one.
        """
        depth, steps = self.b.block_depth, self.steps
        last = self.p.k - (steps - 1) * depth

        def bring(at: Place, size: int, after: Callable[[int], None] | None = None) -> Part:
            # PE transposes first: transposes are interleaved with dots, loads are not.
            if self.left.matrix.transposed and after is None:
                self.bring(self.left, m, rows, at, size, first_left)
                self.bring(self.right, n, columns, at, size, first_right)
                return here()
            self.bring(self.right, n, columns, at, size, first_right)
            self.bring(self.left, m, rows, at, size, first_left, after)
            return here()

        def here() -> Part:
            return Part(m, rows, n, columns, self.left.held(), self.right.held())

        tiles = self.tiles(depth)
        begun = self._at_once(rows, columns) if ramp else 0

        def first(there: int) -> None:
            if there == begun > 0:
                self._first(here(), begun, tiles)

        held = bring(Place(), depth, first)
        if not self.left.matrix.transposed:
            first(begun)
        # The data of the second step is loaded in the middle of the first step; for later steps,
        # before the dots of the previous one, so that it is loaded and evicted meanwhile.
        half = max(begun, -(-rows // self.b.rows) // 2 * self.b.rows)
        now = held
        self.products(now, tiles, True, False, begun, half)
        held = bring(Place(depth), depth if steps > 2 else last)
        self.products(now, tiles, True, False, half)

        def step(following: Place, size: int) -> None:
            nonlocal held
            now, held = held, bring(following, size)
            self.products(now, self.tiles(depth), False, False)

        if steps > 2:
            full = steps - 2 if last == depth else steps - 3
            self.repeat(Place(2 * depth), depth, full, 2, step)
            if last != depth:
                step(Place((steps - 1) * depth), last)
        self.products(held, self.tiles(last), False, True)

    def _at_once(self, rows: int, columns: int) -> int:
        """Return how many rows, in whole tiles, PSUM has room for with all columns of a panel."""
        room = self.state.machine.psum_banks // -(-columns // self.b.columns)
        return min(room, rows // self.b.rows) * self.b.rows

    def _first(self, part: Part, rows: int, tiles: Sequence[tuple[int, int]]) -> None:
        """Emit the dots of the first `rows` together, while the pieces of the first step arrive."""
        heights = [(Place(low), self.b.rows, None) for low in range(0, rows, self.b.rows)]
        self.together(part, heights, self.cuts(part), tiles, True)
