"""Find the pass of phase `hlo` that changes what a model computes."""

from collections.abc import Sequence

from neuronir.dialects.support.npz import Array
from neuronir.driver.judge import judge_module, results_of
from neuronir.driver.options import CompileOptions
from neuronir.driver.specification import Compile, Made, spans_of_passes


def wrong_pass(compile_: Compile, options: CompileOptions, args: Sequence[Array]) -> str:
    """Return the name of the first pass after which the interpreter returns wrong values for
    `args`, all entry arguments; "" if there is none.
    """
    for span in spans_of_passes(compile_, options):
        if not _right(span[0], span[-1], args):
            low, high = 0, len(span) - 1
            while high - low > 1:
                middle = (low + high) // 2
                if _right(span[0], span[middle], args):
                    low = middle
                else:
                    high = middle
            return span[high].name
    return ""


def _right(first: Made, later: Made, args: Sequence[Array]) -> bool:
    return first is later or judge_module(first.module, args, results_of(later.module, args)).ok
