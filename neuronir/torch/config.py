"""`PartitionerConfig`: select what runs on the host."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

_ANALYZE = ("compiler_workdir", "additional_ignored_ops", "max_workers")


@dataclass(frozen=True, kw_only=True)
class PartitionerConfig:
    """For `trace`: operators that the compiler does not take run in torch, on the host.

    `trace_kwargs` are `compiler_args` and `compiler_workdir` of the parts,
    `model_support_percentage_threshold` (0 to 1) the least share of operators that must be
    supported, `min_subgraph_size` the least number of operators of a compiled part and
    `max_subgraph_count` the largest number of such parts (-1: no matter), `ops_to_partition` kinds
    (`aten::add`) that are to run on the host, `analyze_parameters` `compiler_workdir`,
    `additional_ignored_ops` and `max_workers` of `analyze`. ValueError for anything else.
    """

    trace_kwargs: Mapping[str, Any] | None = None
    model_support_percentage_threshold: float = 0.5
    min_subgraph_size: int = -1
    max_subgraph_count: int = -1
    ops_to_partition: Collection[str] | None = None
    analyze_parameters: Mapping[str, Any] | None = field(default=None)

    def __post_init__(self) -> None:
        if not 0 <= self.model_support_percentage_threshold <= 1:
            raise ValueError("model_support_percentage_threshold must be between 0 and 1")
        for name in ("min_subgraph_size", "max_subgraph_count"):
            value = getattr(self, name)
            if value != -1 and value < 1:
                raise ValueError(f"{name} must be -1 or at least 1, is {value}")
        for name in self.ops_to_partition or ():
            if not name.startswith("aten::"):
                raise ValueError(f"ops_to_partition: '{name}' must be written as aten::<op>")
        unknown = set(self.analyze_parameters or {}) - set(_ANALYZE)
        if unknown:
            raise ValueError(
                f"analyze_parameters: {', '.join(sorted(unknown))}: only {', '.join(_ANALYZE)} may "
                "be given"
            )
        unknown = set(self.trace_kwargs or {}) - {"compiler_args", "compiler_workdir"}
        if unknown:
            raise ValueError(f"trace_kwargs: {', '.join(sorted(unknown))} cannot be given")
