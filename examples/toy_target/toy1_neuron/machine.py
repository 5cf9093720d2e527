"""The machine description of toy1."""

from dataclasses import fields, replace

from neuronir.dialects.nc.machine import Machine
from neuronir.targets.inf1.machine import INF1

_ENGINES = "assumed: toy1 has one matmul engine and one vector engine"
_ARRAY = "assumed: an array of 64 x 64"
_SBUF = "assumed: 1 MiB of scratchpad on 64 partitions"

PROVENANCE = {
    **{f.name: "assumed: toy1 is fictional; the value of inf1" for f in fields(Machine)},
    "engines": _ENGINES,
    "pe_rows": _ARRAY,
    "pe_columns": _ARRAY,
    "peak_flops_bf16": "inferred: 64 x 64 x 2 x 1.0 GHz",
    "matmul_dtypes": "assumed: bf16 only",
    "partitions": _SBUF,
    "partition_starts": _SBUF,
    "sbuf_partition_bytes": _SBUF,
    "sbuf_usable_partition_bytes": _SBUF,
    "activations": _ENGINES,
    "activation_tables": _ENGINES,
}

TOY1 = replace(
    INF1,
    name="toy1",
    engines=frozenset({"PE", "DVE"}),
    pe_rows=64,
    pe_columns=64,
    peak_flops_bf16=2.0 * 64 * 64 * 1.0e9,
    matmul_dtypes=frozenset({"BF16"}),
    partitions=64,
    partition_starts={32: (0, 32), 64: (0,)},
    sbuf_partition_bytes=16 * 1024,
    sbuf_usable_partition_bytes=16 * 1024,
    activations=frozenset(),
    activation_tables={},
    provenance=PROVENANCE,
)
