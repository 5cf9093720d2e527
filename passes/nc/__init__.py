"""Define the passes on the nc dialect."""

from neuronir.passes.lazy import lazy

PASSES = lazy(
    __name__,
    {
        "nc-dce": ("dce", "NcDcePass"),
        "nc-sum-in-psum": ("sum_in_psum", "NcSumInPsumPass"),
        "nc-forward-psum": ("forward", "NcForwardPsumPass"),
        "nc-hold-in-psum": ("hold_in_psum", "NcHoldInPsumPass"),
        "nc-balance-evictions": ("balance", "NcBalanceEvictionsPass"),
        "nc-unroll": ("unroll", "NcUnrollPass"),
        "nc-verify-room": ("verify_room", "NcVerifyRoomPass"),
        "nc-split-loads": ("split_loads", "NcSplitLoadsPass"),
        "nc-assign-engines": ("assign_engines", "NcAssignEnginesPass"),
        "nc-rotate": ("rotate", "NcRotatePass"),
        "nc-prefetch": ("prefetch", "NcPrefetchPass"),
        "nc-pipeline": ("pipeline", "NcPipelinePass"),
        "nc-reload-weights": ("reload", "NcReloadWeightsPass"),
        "nc-schedule": ("schedule", "NcSchedulePass"),
        "nc-spill": ("spill", "NcSpillPass"),
        "nc-assign-banks": ("assign_banks", "NcAssignBanksPass"),
        "nc-allocate": ("allocate", "NcAllocatePass"),
        "nc-split-transfers": ("split_transfers", "NcSplitTransfersPass"),
        "nc-order-triggers": ("order_triggers", "NcOrderTriggersPass"),
        "nc-assign-queues": ("assign_queues", "NcAssignQueuesPass"),
        "nc-synchronise": ("synchronise", "NcSynchronisePass"),
        "nc-verify-machine": ("verify_machine", "NcVerifyMachinePass"),
        "nc-verify-order": ("verify_order", "NcVerifyOrderPass"),
    },
)
