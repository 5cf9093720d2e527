"""What the importer makes of the parts of HLO text."""

from textwrap import dedent

import pytest
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from neuronir.dialects.hlo.attributes import i64_array, ints
from neuronir.dialects.support.errors import SourceLocation
from neuronir.dialects.support.location import file_line_col, framework_name, inherit, source_name
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.printer import print_hlo_text


def module_of(body: str, before: str = "") -> ModuleOp:
    """A module whose entry has these lines; checked to verify and to print and read back."""
    text = f"HloModule m\n\n{dedent(before)}\nENTRY main {{\n{dedent(body)}\n}}\n"
    module = import_hlo_text(text, "m.hlo")
    module.verify()
    again = import_hlo_text(print_hlo_text(module), "m.hlo")
    assert module.is_structurally_equivalent(again), print_hlo_text(module)
    return module


def ops_of(module: ModuleOp, name: str) -> list[Operation]:
    """All ops of a name, in order."""
    return [op for op in module.walk() if op.name == name]


def main_of(module: ModuleOp) -> FuncOp:
    """The entry function."""
    (main,) = [o for o in module.ops if isinstance(o, FuncOp) and o.sym_name.data == "main"]
    return main


def test_names_and_places() -> None:
    """An op knows its HLO name, its line and its framework op; a replacement inherits them."""
    module = module_of(
        """\
        %p-0 = f32[2]{0} parameter(0), sharding={replicated}
        ROOT %b.1 = f32[2]{0} negate(%p-0), metadata={op_name="jit(f)/neg" source_line=3}
        """
    )
    (op,) = ops_of(module, "hlo.negate")
    assert source_name(op) == "b.1"
    assert framework_name(op) == "jit(f)/neg"
    assert file_line_col(op) == SourceLocation("m.hlo", 6, 1)
    copy = type(op).create(operands=op.operands, result_types=op.result_types)
    inherit(copy, op)
    assert (source_name(copy), framework_name(copy)) == ("b.1", "jit(f)/neg")
    arguments = main_of(module).arg_attrs
    assert arguments is not None
    assert arguments.data[0].data == {
        "hlo.name": StringAttr("p-0"),
        "hlo.sharding": StringAttr("{replicated}"),
    }


def test_layouts() -> None:
    """The default layout is not kept; another one, tiles and memory spaces are."""
    module = module_of(
        """\
        a = f32[2,3]{1,0} parameter(0)
        b = f32[2,3]{0,1} parameter(1)
        c = f32[2,3]{1,0:T(8,128)(2,1)S(1)} negate(a)
        d = f32[2,3]{0,1} copy(b)
        ROOT t = (f32[2,3]{1,0}, /*index=1*/f32[2,3]{0,1}) tuple(c, d)
        """
    )
    arguments = main_of(module).arg_attrs
    assert arguments is not None
    assert "hlo.layout" not in arguments.data[0].data
    assert arguments.data[1].data["hlo.layout"] == i64_array([0, 1])
    assert ops_of(module, "hlo.negate")[0].attributes["hlo.layout"] == StringAttr(
        "{1,0:T(8,128)(2,1)S(1)}"
    )
    assert ops_of(module, "hlo.copy")[0].attributes["hlo.layout"] == i64_array([0, 1])


def test_stack_frames() -> None:
    """A stack frame is resolved to its file and line."""
    module = module_of(
        """\
        p = f32[] parameter(0)
        ROOT n = f32[] negate(p), metadata={op_name="n" stack_frame_id=2}
        """,
        before="""\
        FileNames
        1 "/src/a.py"

        FunctionNames
        1 "f"

        FileLocations
        1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=1 end_column=2}
        2 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=1 end_column=2}

        StackFrames
        1 {file_location_id=1 parent_frame_id=1}
        2 {file_location_id=2 parent_frame_id=1}

        """,
    )
    metadata = ops_of(module, "hlo.negate")[0].attributes["metadata"]
    assert isinstance(metadata, DictionaryAttr)
    assert metadata.data["source_file"] == StringAttr("/src/a.py")
    assert str(metadata.data["source_line"]) == "20 : i64"


ADD = """\
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
"""


@pytest.mark.parametrize(
    ("line", "name", "properties"),
    [
        (
            "r = f32[2,3,4]{2,1,0} convolution(b, k), window={size=1}, dim_labels=0bf_0io->0bf",
            "hlo.convolution",
            {"window_strides": (1,), "padding": (0, 0), "input_spatial_dims": (0,)},
        ),
        (
            "r = f32[4,3]{1,0} pad(a, z), padding=1_1x0_0_0",
            "hlo.pad",
            {"edge_padding_low": (1, 0), "edge_padding_high": (1, 0), "interior_padding": (0, 0)},
        ),
        (
            "r = f32[1,2]{1,0} slice(a), slice={[1:2:1], [0:3:2]}",
            "hlo.slice",
            {"start_indices": (1, 0), "limit_indices": (2, 3), "strides": (1, 2)},
        ),
        (
            "r = f32[1,3]{1,0} reduce-window(a, z), window={size=2x1}, to_apply=add",
            "hlo.reduce_window",
            {"window_dimensions": (2, 1), "window_strides": (1, 1), "base_dilations": (1, 1)},
        ),
        (
            "r = f32[2,2]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
            "operand_precision={highest,default}",
            "hlo.dot",
            {"lhs_contracting_dims": (1,), "lhs_batch_dims": ()},
        ),
    ],
)
def test_attribute_forms(line: str, name: str, properties: dict[str, tuple[int, ...]]) -> None:
    """Windows, paddings, slices and dimension numbers become index lists."""
    module = module_of(
        f"""\
        a = f32[2,3]{{1,0}} parameter(0)
        b = f32[2,3,5]{{2,1,0}} parameter(1)
        k = f32[1,5,4]{{2,1,0}} parameter(2)
        z = f32[] constant(0)
        ROOT {line}
        """,
        before=ADD,
    )
    (op,) = ops_of(module, name)
    for key, expected in properties.items():
        assert ints(op.properties[key]) == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("{{0,1},{2,3}}", [(0, 1), (2, 3)]),
        ("{}", []),
        ("[2,2]<=[4]", [(0, 1), (2, 3)]),
        ("[2,2]<=[2,2]T(1,0)", [(0, 2), (1, 3)]),
    ],
)
def test_replica_groups(groups: str, expected: list[tuple[int, ...]]) -> None:
    """Groups are lists, however they are written."""
    module = module_of(
        f"""\
        a = f32[4]{{0}} parameter(0)
        ROOT r = f32[4]{{0}} all-reduce(a), channel_id=1, replica_groups={groups}, to_apply=add
        """,
        before=ADD,
    )
    (op,) = ops_of(module, "hlo.all_reduce")
    assert [ints(g) for g in op.properties["replica_groups"].data] == expected  # type: ignore[attr-defined]


def test_control_flow() -> None:
    """Computations become regions, or functions where they are called."""
    module = module_of(
        """\
        n = s32[] constant(3)
        p = pred[] constant(true)
        w = s32[] while(n), condition=c, body=f, backend_config={"known_trip_count":{"n":"7"}}
        q = s32[] conditional(p, n, w), true_computation=f, false_computation=f
        i = s32[] conditional(w, n, w, n), branch_computations={f, f, f}
        u = s32[] fusion(q), kind=kLoop, calls=f
        k = s32[] custom-call(u), custom_call_target="a\\"b", backend_config="{x}"
        ROOT v = s32[] call(k), to_apply=f, frontend_attributes={inlineable="false"}
        """,
        before="""\
        c {
          x.1 = s32[] parameter(0)
          z = s32[] constant(9)
          ROOT l = pred[] compare(x.1, z), direction=LT
        }

        f (x.2: s32[]) -> s32[] {
          x.2 = s32[] parameter(0)
          ROOT d = s32[] add(x.2, x.2)
        }
        """,
    )
    (loop,) = ops_of(module, "hlo.while")
    assert str(loop.properties["trip_count"]) == "7 : i64"
    assert [len(op.regions) for op in ops_of(module, "hlo.conditional")] == [2, 3]
    assert ops_of(module, "hlo.custom_call")[0].properties["call_target_name"] == StringAttr('a"b')
    assert [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)] == ["main", "f"]


def test_tuple_constant_and_tokens() -> None:
    """A tuple literal is a tuple of constants; tokens are values."""
    module = module_of(
        """\
        t = (f32[], s32[2]{0}) constant((1, {2, 3}))
        k = token[] after-all()
        e = s32[2]{0} get-tuple-element((f32[], s32[2]{0}) %t), index=1
        ROOT d = s32[2]{0} add-dependency(e, k)
        """
    )
    assert len(ops_of(module, "hlo.constant")) == 2
    assert len(ops_of(module, "hlo.tuple")) == 1


def test_header_is_kept() -> None:
    """Attributes of the module print back; those about a changed signature do not."""
    text = (
        "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}}, "
        'frontend_attributes={a={b="}"}}\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n'
    )
    module = import_hlo_text(text)
    printed = print_hlo_text(module)
    assert printed.split("\n")[0] == text.split("\n")[0]
    module.attributes["hlo.entry_computation_layout"] = StringAttr("{(f32[3]{0})->f32[3]{0}}")
    assert "entry_computation_layout" not in print_hlo_text(module)
