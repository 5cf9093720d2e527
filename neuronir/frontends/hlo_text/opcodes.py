"""Map opcodes to hlo ops, and attributes to properties, in one table for both directions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, BoolAttr
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo import HLO
from neuronir.dialects.hlo.attributes import i64_array
from neuronir.frontends.hlo_text import attributes as a
from neuronir.frontends.hlo_text.attributes import Decoder

_OPS: dict[str, type[Operation]] = {op.name: op for op in HLO.operations}

_NONE = i64_array(())
_FALSE = BoolAttr.from_bool(False)


@dataclass
class Opcode:
    """The entry of an opcode.

    `attributes` map HLO attributes to decoders. `regions` are HLO attributes that name a
    computation, which becomes a region, in region order. `callee` are HLO attributes that name a
    function. `operands` is the number of operands, or None for any number. `defaults` are optional
    properties.
    """

    op: type[Operation]
    attributes: Mapping[str, Decoder] = field(default_factory=dict)
    regions: tuple[str, ...] = ()
    callee: tuple[str, ...] = ()
    operands: int | None = None
    defaults: Mapping[str, Attribute] = field(default_factory=dict)
    decoded: dict[str, a.Properties] = field(default_factory=dict)


def _op(name: str) -> type[Operation]:
    return _OPS["hlo." + name.replace("-", "_")]


def _same(*names: str) -> dict[str, Decoder]:
    """Index lists whose property has the same name as in HLO."""
    return {name: a.indices(name) for name in names}


_UNARY = (
    "abs acos acosh asin asinh atanh bitcast-convert cbrt ceil convert copy cosh cosine "
    "count-leading-zeros erf exponential exponential-minus-one floor imag is-finite log "
    "log-plus-one logistic negate not popcnt real round-nearest-afz round-nearest-even rsqrt sign "
    "sine sinh sqrt tan tanh reshape bitcast optimization-barrier domain "
    "all-reduce-done all-gather-done collective-permute-done copy-start copy-done"
)
_BINARY = (
    "add and atan2 complex divide maximum minimum multiply or power remainder shift-left "
    "shift-right-arithmetic shift-right-logical stochastic-convert subtract xor add-dependency"
)

_COLLECTIVE: dict[str, Decoder] = {
    "replica_groups": a.groups("replica_groups"),
    "channel_id": a.integer("channel_id"),
    "use_global_device_ids": a.boolean("use_global_device_ids"),
    "constrain_layout": a.boolean("constrain_layout"),
}
_NO_GROUPS: dict[str, Attribute] = {"replica_groups": ArrayAttr(())}
_CHANNEL: dict[str, Decoder] = {
    "channel_id": a.integer("channel_id"),
    "is_host_transfer": a.boolean("is_host_transfer"),
}
_BATCH_NORM: dict[str, Decoder] = {
    "epsilon": a.real("epsilon"),
    "feature_index": a.integer("feature_index"),
}

OPCODES: dict[str, Opcode] = {name: Opcode(_op(name), operands=1) for name in _UNARY.split()}
OPCODES["opt-barrier"] = OPCODES.pop("optimization-barrier")
OPCODES.update({name: Opcode(_op(name), operands=2) for name in _BINARY.split()})
OPCODES.update(
    {
        "reduce-precision": Opcode(
            _op("reduce-precision"),
            {
                "exponent_bits": a.integer("exponent_bits"),
                "mantissa_bits": a.integer("mantissa_bits"),
            },
            operands=1,
        ),
        "compare": Opcode(
            _op("compare"),
            {"direction": a.word("direction"), "type": a.word("compare_type")},
            operands=2,
        ),
        "select": Opcode(_op("select"), operands=3),
        "clamp": Opcode(_op("clamp"), operands=3),
        "constant": Opcode(_op("constant"), operands=0),
        "iota": Opcode(_op("iota"), {"iota_dimension": a.integer("iota_dimension")}, operands=0),
        "broadcast": Opcode(
            _op("broadcast"), _same("dimensions"), operands=1, defaults={"dimensions": _NONE}
        ),
        "transpose": Opcode(_op("transpose"), {"dimensions": a.indices("permutation")}, operands=1),
        "slice": Opcode(_op("slice"), {"slice": a.slice_ranges}, operands=1),
        "pad": Opcode(_op("pad"), {"padding": a.pad_config}, operands=2, defaults=a.pad_config("")),
        "concatenate": Opcode(_op("concatenate"), {"dimensions": a.first_index("dimension")}),
        "reverse": Opcode(_op("reverse"), _same("dimensions"), operands=1),
        "dynamic-slice": Opcode(
            _op("dynamic-slice"), {"dynamic_slice_sizes": a.indices("slice_sizes")}
        ),
        "dynamic-update-slice": Opcode(_op("dynamic-update-slice")),
        "get-dimension-size": Opcode(
            _op("get-dimension-size"), {"dimensions": a.first_index("dimension")}, operands=1
        ),
        "gather": Opcode(
            _op("gather"),
            {
                **_same(
                    "offset_dims",
                    "collapsed_slice_dims",
                    "start_index_map",
                    "operand_batching_dims",
                    "start_indices_batching_dims",
                    "slice_sizes",
                ),
                "index_vector_dim": a.integer("index_vector_dim"),
                "indices_are_sorted": a.boolean("indices_are_sorted"),
            },
            operands=2,
            defaults={
                "operand_batching_dims": _NONE,
                "start_indices_batching_dims": _NONE,
                "indices_are_sorted": _FALSE,
            },
        ),
        "scatter": Opcode(
            _op("scatter"),
            {
                **_same(
                    "update_window_dims",
                    "inserted_window_dims",
                    "scatter_dims_to_operand_dims",
                    "input_batching_dims",
                    "scatter_indices_batching_dims",
                ),
                "index_vector_dim": a.integer("index_vector_dim"),
                "indices_are_sorted": a.boolean("indices_are_sorted"),
                "unique_indices": a.boolean("unique_indices"),
            },
            regions=("to_apply",),
            defaults={
                "input_batching_dims": _NONE,
                "scatter_indices_batching_dims": _NONE,
                "indices_are_sorted": _FALSE,
                "unique_indices": _FALSE,
            },
        ),
        "dot": Opcode(
            _op("dot"),
            {
                **_same(
                    "lhs_batch_dims",
                    "rhs_batch_dims",
                    "lhs_contracting_dims",
                    "rhs_contracting_dims",
                ),
                "operand_precision": a.words("operand_precision"),
                "algorithm": a.word("algorithm"),
            },
            operands=2,
            defaults={
                "lhs_batch_dims": _NONE,
                "rhs_batch_dims": _NONE,
                "lhs_contracting_dims": _NONE,
                "rhs_contracting_dims": _NONE,
            },
        ),
        "convolution": Opcode(
            _op("convolution"),
            {
                "window": a.conv_window,
                "dim_labels": a.dim_labels,
                "feature_group_count": a.integer("feature_group_count"),
                "batch_group_count": a.integer("batch_group_count"),
                "operand_precision": a.words("operand_precision"),
            },
            operands=2,
            defaults={
                **a.conv_window("{}"),
                **a.integer("feature_group_count")("1"),
                **a.integer("batch_group_count")("1"),
            },
        ),
        "cholesky": Opcode(
            _op("cholesky"),
            {"lower": a.boolean("lower")},
            operands=1,
            defaults={"lower": _FALSE},
        ),
        "triangular-solve": Opcode(
            _op("triangular-solve"),
            {
                "left_side": a.boolean("left_side"),
                "lower": a.boolean("lower"),
                "unit_diagonal": a.boolean("unit_diagonal"),
                "transpose_a": a.word("transpose_a"),
            },
            operands=2,
            defaults={
                "left_side": _FALSE,
                "lower": _FALSE,
                "unit_diagonal": _FALSE,
                **a.word("transpose_a")("NO_TRANSPOSE"),
            },
        ),
        "fft": Opcode(
            _op("fft"),
            {"fft_type": a.word("fft_type"), "fft_length": a.indices("fft_length")},
            operands=1,
        ),
        "reduce": Opcode(_op("reduce"), _same("dimensions"), regions=("to_apply",)),
        "reduce-window": Opcode(
            _op("reduce-window"),
            {"window": a.reduce_window},
            regions=("to_apply",),
            defaults=a.reduce_window("{}"),
        ),
        "select-and-scatter": Opcode(
            _op("select-and-scatter"),
            {"window": a.scatter_window},
            regions=("select", "scatter"),
            operands=3,
            defaults=a.scatter_window("{}"),
        ),
        "sort": Opcode(
            _op("sort"),
            {"dimensions": a.first_index("dimension"), "is_stable": a.boolean("is_stable")},
            regions=("to_apply",),
            defaults={"is_stable": _FALSE},
        ),
        "map": Opcode(
            _op("map"), _same("dimensions"), regions=("to_apply",), defaults={"dimensions": _NONE}
        ),
        "topk": Opcode(
            _op("topk"),
            {"k": a.integer("k"), "largest": a.boolean("largest")},
            operands=1,
        ),
        "tuple": Opcode(_op("tuple")),
        "get-tuple-element": Opcode(
            _op("get-tuple-element"), {"index": a.integer("index")}, operands=1
        ),
        "call": Opcode(_op("call"), callee=("to_apply",)),
        "while": Opcode(_op("while"), regions=("condition", "body"), operands=1),
        "conditional": Opcode(_op("conditional")),
        "fusion": Opcode(_op("fusion"), {"kind": a.word("kind")}, regions=("calls",)),
        "custom-call": Opcode(
            _op("custom-call"),
            {"custom_call_target": a.word("call_target_name")},
            callee=("to_apply", "called_computations"),
        ),
        "after-all": Opcode(_op("after-all")),
        "rng": Opcode(_op("rng"), {"distribution": a.word("distribution")}),
        "rng-bit-generator": Opcode(
            _op("rng-bit-generator"), {"algorithm": a.word("algorithm")}, operands=1
        ),
        "rng-get-and-update-state": Opcode(
            _op("rng-get-and-update-state"), {"delta": a.integer("delta")}, operands=0
        ),
        "batch-norm-training": Opcode(_op("batch-norm-training"), _BATCH_NORM, operands=3),
        "batch-norm-inference": Opcode(_op("batch-norm-inference"), _BATCH_NORM, operands=5),
        "batch-norm-grad": Opcode(_op("batch-norm-grad"), _BATCH_NORM, operands=5),
        "all-to-all": Opcode(
            _op("all-to-all"),
            {**_COLLECTIVE, "dimensions": a.first_index("dimension")},
            defaults=_NO_GROUPS,
        ),
        "collective-broadcast": Opcode(
            _op("collective-broadcast"), _COLLECTIVE, defaults=_NO_GROUPS
        ),
        "partition-id": Opcode(_op("partition-id"), operands=0),
        "replica-id": Opcode(_op("replica-id"), operands=0),
        "infeed": Opcode(_op("infeed"), {"infeed_config": a.word("infeed_config")}, operands=1),
        "outfeed": Opcode(_op("outfeed"), {"outfeed_config": a.word("outfeed_config")}, operands=2),
        "async-start": Opcode(_op("async-start"), callee=("calls",)),
        "async-update": Opcode(_op("async-update"), callee=("calls",)),
        "async-done": Opcode(_op("async-done"), callee=("calls",)),
    }
)
for _name in ("all-reduce", "all-reduce-start"):
    OPCODES[_name] = Opcode(_op(_name), _COLLECTIVE, regions=("to_apply",), defaults=_NO_GROUPS)
for _name in ("all-gather", "all-gather-start"):
    OPCODES[_name] = Opcode(
        _op(_name),
        {**_COLLECTIVE, "dimensions": a.first_index("dimension")},
        defaults=_NO_GROUPS,
    )
OPCODES["reduce-scatter"] = Opcode(
    _op("reduce-scatter"),
    {**_COLLECTIVE, "dimensions": a.first_index("dimension")},
    regions=("to_apply",),
    defaults=_NO_GROUPS,
)
for _name in ("collective-permute", "collective-permute-start"):
    OPCODES[_name] = Opcode(
        _op(_name),
        {
            "source_target_pairs": a.groups("source_target_pairs"),
            "channel_id": a.integer("channel_id"),
        },
        defaults={"source_target_pairs": ArrayAttr(())},
    )
for _name in ("send", "send-done", "recv", "recv-done"):
    OPCODES[_name] = Opcode(_op(_name), _CHANNEL)

OPCODE_OF: dict[str, str] = {spec.op.name: opcode for opcode, spec in OPCODES.items()}
"""Return the opcode of an op name: `hlo.get_tuple_element` -> `get-tuple-element`."""

KEPT = frozenset(
    """sharding frontend_attributes backend_config control-predecessors operand_layout_constraints
    output_to_operand_aliasing api_version custom_call_has_side_effect custom_call_schedule literal
    padding_type origin original_value statistics result_accuracy parameter_replication
    async_execution_thread async_group_id schedule domain outfeed_shape window dim_labels
    feature_group_count batch_group_count operand_precision largest sparsity is_composite
    has_side_effect output_operand_aliasing cross_program_prefetch_index slice padding dimensions
    channel_id use_global_device_ids execution_thread collectives_mode
    control_predecessors""".split()
)
"""Attributes that the compiler does not interpret: kept as text in `hlo.<name>`."""
