"""Declare the parts of XLA's protocol buffers that importing an HloModuleProto needs.

Field names and numbers are those of xla/service/hlo.proto and xla/xla_data.proto, which never
change. Enumerations are declared as int32 and maps as repeated entries, which have the same
encoding.
"""

from functools import cache
from typing import Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.messages import message_classes

TYPES = {
    number: name
    for name, number in (
        ("pred", 1),
        *(("s2", 26), ("s4", 21), ("s8", 2), ("s16", 3), ("s32", 4), ("s64", 5)),
        *(("u2", 27), ("u4", 22), ("u8", 6), ("u16", 7), ("u32", 8), ("u64", 9)),
        *(("s1", 30), ("u1", 31), ("f16", 10), ("f32", 11), ("bf16", 16), ("f64", 12)),
        *(("f8e5m2", 19), ("f8e4m3", 28), ("f8e4m3fn", 20), ("f8e4m3b11fnuz", 23)),
        *(("f8e3m4", 29), ("f8e5m2fnuz", 24), ("f8e4m3fnuz", 25)),
        *(("f4e2m1fn", 32), ("f8e8m0fnu", 33), ("c64", 15), ("c128", 18)),
        *(("tuple", 13), ("opaque", 14), ("token", 17), ("buffer", 34)),
    )
}
"""The names in HLO text of the numbers of xla.PrimitiveType."""

_MESSAGES: dict[str, str] = {
    "TileProto": "dimensions=1 *int64",
    "LayoutProto": "minor_to_major=1 *int64; tiles=6 *TileProto; memory_space=8 int64",
    "ShapeProto": "element_type=2 int32; dimensions=3 *int64; tuple_shapes=4 *ShapeProto; "
    "layout=5 LayoutProto; is_dynamic_dimension=6 *bool",
    "ProgramShapeProto": "parameters=1 *ShapeProto; result=2 ShapeProto",
    "OpMetadata": "op_type=1 string; op_name=2 string; source_file=3 string; source_line=4 int32; "
    "source_end_line=17 int32; source_column=18 int32; source_end_column=19 int32; "
    "deduplicated_name=12 string; stack_frame_id=15 int32; scheduling_name=16 string",
    "LiteralProto": "shape=1 ShapeProto; preds=2 *bool; u8s=3 bytes; s32s=4 *int32; "
    "s64s=5 *int64; u32s=6 *uint32; u64s=7 *uint64; f32s=8 *float; f64s=9 *double; "
    "tuple_literals=10 *LiteralProto; f16s=11 bytes; c64s=12 *float; bf16s=13 bytes; "
    "s8s=15 bytes; u16s=16 bytes; s16s=17 bytes; c128s=18 *double; f8e5m2s=19 bytes; "
    "f8e4m3fns=20 bytes; f8e4m3b11fnuzs=23 bytes; f8e5m2fnuzs=24 bytes; f8e4m3fnuzs=25 bytes; "
    "f8e4m3s=28 bytes; f8e3m4s=29 bytes; f8e8m0fnus=33 bytes",
    "WindowDimension": "size=1 int64; stride=2 int64; padding_low=3 int64; padding_high=4 int64; "
    "window_dilation=5 int64; base_dilation=6 int64; window_reversal=7 bool",
    "Window": "dimensions=1 *WindowDimension",
    "GatherDimensionNumbers": "offset_dims=1 *int64; collapsed_slice_dims=2 *int64; "
    "start_index_map=3 *int64; index_vector_dim=4 int64; operand_batching_dims=5 *int64; "
    "start_indices_batching_dims=6 *int64",
    "ScatterDimensionNumbers": "update_window_dims=1 *int64; inserted_window_dims=2 *int64; "
    "scatter_dims_to_operand_dims=3 *int64; index_vector_dim=4 int64; "
    "input_batching_dims=5 *int64; scatter_indices_batching_dims=6 *int64",
    "ConvolutionDimensionNumbers": "input_batch_dimension=7 int64; "
    "input_feature_dimension=8 int64; input_spatial_dimensions=11 *int64; "
    "kernel_input_feature_dimension=3 int64; kernel_output_feature_dimension=4 int64; "
    "kernel_spatial_dimensions=6 *int64; output_batch_dimension=9 int64; "
    "output_feature_dimension=10 int64; output_spatial_dimensions=12 *int64",
    "DotDimensionNumbers": "lhs_contracting_dimensions=1 *int64; "
    "rhs_contracting_dimensions=2 *int64; lhs_batch_dimensions=3 *int64; "
    "rhs_batch_dimensions=4 *int64",
    "PrecisionConfig": "operand_precision=1 *int32; algorithm=2 int32",
    "PaddingDimension": "edge_padding_low=1 int64; edge_padding_high=2 int64; "
    "interior_padding=3 int64",
    "PaddingConfig": "dimensions=1 *PaddingDimension",
    "SliceDimensions": "start=1 int64; limit=2 int64; stride=3 int64",
    "TriangularSolveOptions": "left_side=1 bool; lower=2 bool; unit_diagonal=3 bool; "
    "transpose_a=4 int32",
    "CholeskyOptions": "lower=1 bool",
    "FrontendAttributes": "map=1 map string",
    "ReplicaGroup": "replica_ids=1 *int64",
    "IotaReplicaGroupListProto": "num_replica_groups=1 int64; num_devices_per_group=2 int64; "
    "iota_reshape_dims=3 *int64; iota_transpose_perm=4 *int32",
    "CollectiveDeviceListProto": "replica_groups=1 *ReplicaGroup; "
    "iota_replica_group_list=2 IotaReplicaGroupListProto",
    "SourceTarget": "source=1 int64; target=2 int64",
    "HloInstructionProto": "name=1 string; opcode=2 string; shape=3 ShapeProto; "
    "metadata=7 OpMetadata; literal=8 LiteralProto; parameter_number=9 int64; "
    "fusion_kind=11 string; tuple_index=13 int64; dimensions=14 *int64; window=15 Window; "
    "convolution_dimension_numbers=16 ConvolutionDimensionNumbers; "
    "slice_dimensions=17 *SliceDimensions; exponent_bits=18 int32; mantissa_bits=19 int32; "
    "dynamic_slice_sizes=20 *int64; padding_config=21 PaddingConfig; outfeed_config=22 bytes; "
    "distribution=23 int32; epsilon=24 float; feature_index=25 int64; channel_id=26 int64; "
    "infeed_config=27 bytes; custom_call_target=28 string; "
    "dot_dimension_numbers=30 DotDimensionNumbers; fft_type=31 int32; fft_length=32 *int64; "
    "gather_dimension_numbers=33 GatherDimensionNumbers; gather_slice_sizes=34 *int64; "
    "id=35 int64; operand_ids=36 *int64; control_predecessor_ids=37 *int64; "
    "called_computation_ids=38 *int64; backend_config=43 bytes; is_host_transfer=47 bool; "
    "scatter_dimension_numbers=48 ScatterDimensionNumbers; replica_groups=49 *ReplicaGroup; "
    "feature_group_count=50 int64; precision_config=51 PrecisionConfig; "
    "source_target_pairs=52 *SourceTarget; constrain_layout=56 bool; batch_group_count=58 int64; "
    "triangular_solve_options=59 TriangularSolveOptions; is_stable=60 bool; "
    "cholesky_options=62 CholeskyOptions; comparison_direction=63 string; "
    "custom_call_has_side_effect=65 bool; delta=66 int64; indices_are_sorted=67 bool; "
    "frontend_attributes=68 FrontendAttributes; unique_indices=69 bool; rng_algorithm=70 int32; "
    "use_global_device_ids=71 bool; comparison_type=72 string; k=81 int64; largest=85 bool; "
    "collective_device_list=87 CollectiveDeviceListProto",
    "HloComputationProto": "name=1 string; instructions=2 *HloInstructionProto; "
    "program_shape=4 ProgramShapeProto; id=5 int64; root_id=6 int64; execution_thread=8 string",
    "FileLocation": "file_name_id=1 int32; function_name_id=2 int32; line=3 int32; column=4 int32",
    "StackFrame": "file_location_id=1 int32; parent_frame_id=2 int32",
    "StackFrameIndexProto": "file_names=1 *string; function_names=2 *string; "
    "file_locations=3 *FileLocation; stack_frames=4 *StackFrame",
    "InstructionSequence": "instruction_ids=1 *int64",
    "SequencesEntry": "key=1 int64; value=2 InstructionSequence",
    "HloScheduleProto": "sequences=1 *SequencesEntry",
    "HloModuleProto": "name=1 string; entry_computation_name=2 string; "
    "computations=3 *HloComputationProto; host_program_shape=4 ProgramShapeProto; "
    "entry_computation_id=6 int64; schedule=7 HloScheduleProto; "
    "stack_frame_index=17 StackFrameIndexProto",
    "HloProto": "hlo_module=1 HloModuleProto",
}


@cache
def _classes() -> dict[str, Any]:
    try:
        return message_classes("neuronir.xla", _MESSAGES, {})
    except ImportError as error:
        raise NeuronError(
            "NIR_HLO021",
            "reading an HloModuleProto needs the protobuf package, which is not installed",
            help="pip install protobuf, or compile the HLO text",
        ) from error


def parse_module(data: bytes, what: str) -> Any:
    """Parse an HloModuleProto, or the one in an HloProto; raises NIR_HLO021 if there is none."""
    classes = _classes()
    from google.protobuf.message import DecodeError

    for name in ("HloModuleProto", "HloProto"):
        found = classes[name]()
        try:
            found.ParseFromString(data)
        except DecodeError:
            continue
        module = found if name == "HloModuleProto" else found.hlo_module
        if module.computations:
            return module
    raise NeuronError(
        "NIR_HLO021",
        f"'{what}' is neither HLO text nor an HloModuleProto: it is truncated or another file",
        help="--framework names the framework of the model",
    )
