"""The named pipelines over hlo and nc, as pass specifications that `neuron-opt -p` takes."""

_CLEAN = "hlo-canonicalize,hlo-constant-fold,hlo-canonicalize,hlo-cse,hlo-dce"

_FOUND = "hlo-inline,hlo-fold-conditional,hlo-unroll-while"
SIMPLIFY = f"{_FOUND},{_CLEAN}"
"""One function without calls, inner tuples or dead code; static loops know their trip count."""


def _unroll(options: str = "") -> str:
    unroll = f'hlo-unroll-while{{mode="unroll"{options}}}'
    return f"hlo-inline,hlo-fold-conditional,{unroll},hlo-emulate-uint64,{_CLEAN}"


UNROLL = _unroll()
"""The same with static loops unrolled, except for large ones that can stay loops to the end."""

UNROLL_ALL = 'hlo-unroll-while{mode="unroll" loop_ops=5000 simplify=true}'
"""Unrolls the loops that UNROLL leaves, for the direct path, which does not take loops."""


def to_target(
    target: str,
    *,
    auto_cast: str = "none",
    cast_type: str = "bf16",
    relayout: str = "exact",
    gathers: bool = True,
    integers: bool = True,
    scans: bool = True,
    loops: bool = True,
) -> str:
    """Return the passes from an imported module to the form that the lowering of a target accepts.

    Loops of few iterations are unrolled. `gathers` says that the machine's transfers take addresses
    at run time, `integers` that one of its engines computes integers, and `scans` that one computes
    recurrences along a row. With `loops`, long loops stay. Composites are found before the
    decomposition, which would split them. Types are checked last, after dead code is removed.
    """
    turned = "" if relayout == "exact" else f' relayout="{relayout}"'
    cast = f'hlo-auto-cast{{mode="{auto_cast}" type="{cast_type}"{turned}}}'
    rounds = auto_cast == "all" and cast_type != "tf32"
    kept = f"{' scans=true' if scans else ''}{'' if integers else ' unsigned=true'}"
    kept += " keep_functions=true" if rounds else ""
    decompose = f'hlo-decompose{{keep="logistic"{kept}}}'
    exact = () if integers else ("hlo-exact-integers", _CLEAN)
    return ",".join(
        (
            *((f"{_FOUND},hlo-find-recurrences",) if scans else ()),
            _unroll(f"{'' if loops else ' loop_ops=5000'}{'' if gathers else ' addresses=false'}"),
            "hlo-fold-conditional{select=true}",
            *(("hlo-join-loops", "hlo-hoist-products") if loops else ()),
            "hlo-find-composites",
            *(() if gathers else ("hlo-gather-to-dot",)),
            decompose,
            _CLEAN,
            # Some decompositions make gathers, scatters and slices at computed positions, and what
            # replaces them needs a decomposition.
            *(() if gathers else ("hlo-select-slices", f'hlo-scatter-to-dot{{target="{target}"}}')),
            *(() if gathers else ("hlo-gather-to-dot", decompose, _CLEAN)),
            *exact,
            "hlo-gather-products",
            "hlo-widen-products",
            "hlo-scale-results",
            "hlo-fold-scales",
            "hlo-fold-norms",
            "hlo-fold-sums",
            "hlo-dce",  # whatever reads a sum keeps its mean
            "hlo-center-norms",
            cast,
            # Functions that compute in fp32 are taken apart when nothing in them is cast any more.
            *(('hlo-decompose{keep="logistic"}',) if rounds else ()),
            *(exact if rounds else ()),
            *(("hlo-gather-diagonals",) if gathers else ()),
            *((f'hlo-gather-to-dot{{target="{target}"}}',) if gathers else ()),
            *((f'hlo-gather-rows{{target="{target}"}}',) if gathers else ()),
            *((f'hlo-scatter-to-dot{{target="{target}"}}',) if gathers else ()),
            *((f'hlo-split-scatters{{target="{target}"}}',) if gathers else ()),
            _CLEAN,
            f'hlo-verify-supported{{target="{target}"}}',
        )
    )


ORDERED = (
    "nc-unroll,nc-verify-room,nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,"
    "nc-reload-weights,nc-schedule"
)
"""The passes from phase `virtual` to phase `ordered`."""

PIPELINES: dict[str, str] = {
    "hlo-simplify": SIMPLIFY,
    "hlo-unroll": UNROLL,
    "hlo-to-trn1": to_target("trn1"),
    "hlo-to-trn1-matmult": to_target("trn1", auto_cast="matmult"),
    "hlo-to-trn1-all": to_target("trn1", auto_cast="all"),
    "hlo-to-inf1": to_target("inf1", auto_cast="all", gathers=False, integers=False, scans=False),
    "nc-order": ORDERED,
}
"""Pipeline name to pass specification."""
