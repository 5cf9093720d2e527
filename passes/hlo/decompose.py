"""hlo-decompose: rewrite ops without a machine instruction as simpler ops."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.decompositions import (
    dots,
    element_gathers,
    elementary,
    groups,
    hyperbolic,
    normalization,
    precision,
    random_bits,
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
    unsigned,
    windows,
)
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, splat
from neuronir.passes.hlo.support.walk import COMPOSITE, PROGRAM_BLOCKS, Rule, blocks, rewrite_block
from neuronir.passes.statistics import record


@cache
def decompositions() -> Mapping[str, Rule]:
    """Return all decompositions by opcode."""
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
        random_bits,
    )
    for family in families:
        merged.update(family.RULES)
    return merged


@cache
def _functions() -> frozenset[str]:
    """Return the opcodes whose decomposition relies on the precision of fp32 between its ops."""
    native = "logistic"
    families = (rounding, transcendental, hyperbolic)
    return frozenset(("remainder", *(o for f in families for o in f.RULES))) - {native}


def _unless_function(rule: Rule) -> Rule:
    """Wrap a rule that leaves functions of floats, except for powers with a constant exponent,
    which are products or roots.
    """

    def run(op: Operation, e: Emitter) -> SSAValue | None:
        if is_float(element(op.results[0])):
            if op.name != "hlo.power" or splat(op.operands[1]) is None:
                return None
        return rule(op, e)

    return run


@dataclass(frozen=True)
class HloDecomposePass(ModulePass):
    """Decompose ops that the target does not support into simpler ops.

    - Floating point: floor, ceil, rounding, power (multiplications for small integer exponents,
      else exp(y * log|x|) with the rules of IEEE pow), exponential_minus_one and log_plus_one
      without cancellation, logistic, cbrt, tan, atan2, sine and cosine (range reduction), asin and
      acos (by atan2), hyperbolic functions and their inverses, is_finite, sign, clamp, remainder
      (exact long division), reduce_precision, and comparisons in total order. Transcendental
      functions of narrow floats are computed in f32.
    - Integers: divide and remainder (a corrected quotient in f32; of u32 only with `unsigned`),
      power (by squaring), popcnt, count_leading_zeros, and shifts by the width or more.
    - Normalisation and windows: batch_norm_*, cumulative reduce_window (by doubling, and in
      pieces if it is long), reduce_window with a computed initial value, and select_and_scatter.
    - Reductions: of (value, index) pairs, of several operands and by regions of several ops (pair
      by pair), with a computed initial value, and of many elements to few (in two stages).
    - Scatters: that multiply or combine bits (updates of one element are combined first), that add
      integers, and that keep the maximum or minimum of 32-bit integers (f32 scatters of exact
      parts).
    - Linear algebra: cholesky and triangular_solve of matrices up to 64 (by column), dots and
      convolutions of integers (exact products of bf16 digits), dots and convolutions of mixed
      types, batches of small dots (multiplications and a sum), and grouped convolutions.
    - Sorting: sort (ranks by comparing all pairs, or a bitonic network; s32 keys if the comparator
      compares one function of both sides) and topk (k maxima).
    - optimization_barrier.

    With `scans`, ops along rows become composites instead: running sums of floats become
    recurrences, argmax and argmin become a maximum and `first_match`, sorts become `sort_rows` or
    `sort_pairs`, and topk becomes `top_rows`. Indices of elements of a vector are padded to a
    multiple of 128. Pooling windows, other dots and
    convolutions, reverse, and the regions of reducers are not changed. The regions of composites
    are decomposed like the program.

    With `keep_functions`, functions of floats whose decomposition relies on the precision of fp32
    stay (rounding to integers, remainder, trigonometric and hyperbolic functions and the like): an
    hlo-auto-cast of all ops then rounds what they take and return, not the values in between.
    Functions in the regions of composites, which are not cast, are decomposed.
    """

    name = "hlo-decompose"
    keep: tuple[str, ...] = field(
        default=(), metadata={"help": "opcodes that the target supports natively"}
    )
    scans: bool = field(
        default=False,
        metadata={
            "help": ("the target has an engine for recurrences, maxima and matches along rows")
        },
    )

    unsigned: bool = field(
        default=False,
        metadata={
            "help": "divide u32 and draw random bits in steps that fp32 computes exactly, because "
            "the target computes integers in it"
        },
    )
    keep_functions: bool = field(
        default=False,
        metadata={"help": "leave functions of floats until hlo-auto-cast has run"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = decompositions()
        unknown = sorted(set(self.keep) - set(known))
        if unknown:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: unknown names in `keep`: {', '.join(unknown)}",
                help="opcodes with a decomposition: " + ", ".join(sorted(known)),
            )
        rules: dict[str, tuple[Rule, ...]] = {
            f"hlo.{o}": (rule,) for o, rule in known.items() if o not in self.keep
        }
        if self.unsigned:
            for o, rule in unsigned.RULES.items():
                rules[f"hlo.{o}"] = (rule, *rules.get(f"hlo.{o}", ()))
        if self.scans:
            rules["hlo.reduce_window"] = (windows.without_scans,)
            rules |= {
                f"hlo.{o}": (rule,)
                for family in (searches, row_sorts, row_tops, element_gathers)
                for o, rule in family.RULES.items()
            }
        of_program = dict(rules)
        if self.keep_functions:
            of_program |= {
                f"hlo.{o}": tuple(_unless_function(rule) for rule in rules[f"hlo.{o}"])
                for o in _functions()
                if o not in self.keep
            }
        count = 0
        for block in tuple(blocks(op, composites=True)):
            if not _is_program(block):
                continue
            parent = block.parent_op()
            outlined = parent is not None and parent.name == COMPOSITE
            rewritten = rewrite_block(block, rules if outlined else of_program, inner=False)
            if rewritten and outlined:
                simplify_block(block)  # later passes do not visit composites
            count += rewritten
        record(self.name, "decomposed", count)


def _is_program(block: Block) -> bool:
    parent = block.parent_op()
    return parent is None or parent.name in PROGRAM_BLOCKS
