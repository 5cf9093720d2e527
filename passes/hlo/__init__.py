"""Export the passes on the hlo dialect, each imported on first use."""

from neuronir.passes.lazy import lazy

PASSES = lazy(
    __name__,
    {
        "hlo-inline": ("inline", "HloInlinePass"),
        "hlo-dce": ("dce", "HloDcePass"),
        "hlo-cse": ("cse", "HloCsePass"),
        "hlo-canonicalize": ("canonicalize", "HloCanonicalizePass"),
        "hlo-constant-fold": ("constant_fold", "HloConstantFoldPass"),
        "hlo-unroll-while": ("unroll_while", "HloUnrollWhilePass"),
        "hlo-fold-conditional": ("fold_conditional", "HloFoldConditionalPass"),
        "hlo-fold-scales": ("fold_scales", "HloFoldScalesPass"),
        "hlo-fold-sums": ("fold_sums", "HloFoldSumsPass"),
        "hlo-fold-norms": ("fold_norms", "HloFoldNormsPass"),
        "hlo-center-norms": ("center_norms", "HloCenterNormsPass"),
        "hlo-gather-diagonals": ("gather_diagonals", "HloGatherDiagonalsPass"),
        "hlo-gather-to-dot": ("gather_to_dot", "HloGatherToDotPass"),
        "hlo-gather-rows": ("gather_rows", "HloGatherRowsPass"),
        "hlo-scatter-to-dot": ("scatter_to_dot", "HloScatterToDotPass"),
        "hlo-select-slices": ("select_slices", "HloSelectSlicesPass"),
        "hlo-split-scatters": ("split_scatters", "HloSplitScattersPass"),
        "hlo-auto-cast": ("auto_cast", "HloAutoCastPass"),
        "hlo-narrow-int64": ("narrow_int64", "HloNarrowInt64Pass"),
        "hlo-emulate-uint64": ("emulate_uint64", "HloEmulateUint64Pass"),
        "hlo-decompose": ("decompose", "HloDecomposePass"),
        "hlo-exact-integers": ("exact_integers", "HloExactIntegersPass"),
        "hlo-verify-supported": ("verify_supported", "HloVerifySupportedPass"),
        "hlo-widen-products": ("widen_products", "HloWidenProductsPass"),
        "hlo-scale-results": ("scale_results", "HloScaleResultsPass"),
        "hlo-find-composites": ("find_composites", "HloFindCompositesPass"),
        "hlo-hoist-products": ("hoist_products", "HloHoistProductsPass"),
        "hlo-join-loops": ("join_loops", "HloJoinLoopsPass"),
        "hlo-mark-stages": ("mark_stages", "HloMarkStagesPass"),
        "hlo-find-recurrences": ("find_recurrences", "HloFindRecurrencesPass"),
    },
)
