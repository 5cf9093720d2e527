"""hlo-decompose: ops that a machine has no instruction for become simpler ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.decompositions import (
    dots,
    elementary,
    groups,
    hyperbolic,
    normalization,
    precision,
    rounding,
    row_sorts,
    row_tops,
    scatter,
    searches,
    sorting,
    stages,
    total_order,
    transcendental,
    triangular,
    windows,
)
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.walk import COMPOSITE, PROGRAM_BLOCKS, Rule, blocks, rewrite_block
from neuronir.passes.statistics import record


@cache
def decompositions() -> Mapping[str, Rule]:
    """Every decomposition by opcode."""
    merged: dict[str, Rule] = {}
    families = (
        rounding,
        transcendental,
        elementary,
        groups,
        hyperbolic,
        normalization,
        windows,
        triangular,
        dots,
        precision,
        scatter,
        sorting,
        stages,
        total_order,
    )
    for family in families:
        merged.update(family.RULES)
    return merged


@dataclass(frozen=True)
class HloDecomposePass(ModulePass):
    """Rewrite ops that the target does not do natively by documented formulas on simpler ops.

    Floating point: floor, ceil, round_nearest_even, round_nearest_afz (adding and subtracting
    2^mantissa), power (products for small integer exponents, else exp(y * log|x|) with the rules
    of IEEE pow), exponential_minus_one and log_plus_one without cancellation, logistic, cbrt, tan,
    atan2, sine and cosine (range reduction), asin and acos (by atan2), hyperbolic functions and
    their inverses (without cancellation), is_finite, sign, clamp, remainder (long division,
    exact), reduce_precision, comparisons in total order. Integers: divide and remainder (a
    quotient in f32, corrected), power (by squares), popcnt, count_leading_zeros, shifts by the
    width or more. Larger ones: batch_norm_*, cumulative reduce_window (by doubling),
    select_and_scatter, reductions of (value, index) pairs, from an initial value that is computed
    (it comes last), long ones to a few elements (in two
    stages), scatters that multiply or combine bits (updates for one place first, found by
    comparing all pairs), scatters that add integers or keep the largest or smallest of 32-bit ones
    (f32 scatters of parts that add up exactly), optimization_barrier; cholesky and
    triangular_solve of matrices up to 64 (column by column); dots of integers (exact products of
    bf16 digits), dots and convolutions of f32 with a narrower type (both in f32, or both narrow
    where the f32 operand was converted from narrow), and batches of dots that are too small for a
    tensor engine (multiplications and a sum); grouped convolutions (groups by batch become groups
    of features, and small groups one filter with zeros between them); sort (a place for each
    element by comparing all pairs, or a bitonic network; s32 keys where the comparator compares
    one function of both sides) and topk (the best, k times). Narrow floats take transcendental
    functions in f32. `keep` lists opcodes to leave alone because the target has them; with `scans`
    an engine of it works along rows: running sums of floats stay recurrences, and argmax and argmin
    of a dimension become the best of each row and composite `first_match`, the first place of it,
    sorts of one operand composite `sort_rows`, of integers in its order, those with the places of
    its elements composite `sort_pairs` of f32, and topk composites
    `top_rows` and `top_values`, of f32.
    Pooling windows, other dots, other convolutions and reverse are never touched, nor are the
    regions of reducers; those of composites are rewritten like the program, and simplified where
    that changed them.
    """

    name = "hlo-decompose"
    keep: tuple[str, ...] = ()
    scans: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = decompositions()
        unknown = sorted(set(self.keep) - set(known))
        if unknown:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: nothing to keep under the name {', '.join(unknown)}",
                help="opcodes with a decomposition: " + ", ".join(sorted(known)),
            )
        rules = {f"hlo.{o}": (rule,) for o, rule in known.items() if o not in self.keep}
        if self.scans:
            rules["hlo.reduce_window"] = (windows.without_scans,)
            rules |= {
                f"hlo.{o}": (rule,)
                for family in (searches, row_sorts, row_tops)
                for o, rule in family.RULES.items()
            }
        count = 0
        for block in tuple(blocks(op, composites=True)):
            if not _is_program(block):
                continue
            rewritten = rewrite_block(block, rules, inner=False)
            parent = block.parent_op()
            if rewritten and parent is not None and parent.name == COMPOSITE:
                simplify_block(block)  # the passes that come next do not look there
            count += rewritten
        record(self.name, "decomposed", count)


def _is_program(block: Block) -> bool:
    parent = block.parent_op()
    return parent is None or parent.name in PROGRAM_BLOCKS
