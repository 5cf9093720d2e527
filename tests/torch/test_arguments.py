"""`compiler_args`: each option of both compilers takes effect, is refused, or is remarked on."""

import argparse
from argparse import Namespace
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import neuronir.torch as torch_neuronx  # noqa: E402
from neuronir.cli import neuron_cc_args, neuronx_cc_args  # noqa: E402
from neuronir.cli.cc_compile import compile_options  # noqa: E402
from neuronir.dialects.support.errors import NeuronError  # noqa: E402
from neuronir.torch.arguments import cache_use, parse_arguments  # noqa: E402
from neuronir.torch_neuron.arguments import parse_arguments as parse_inf1  # noqa: E402
from tests.torch import kernels  # noqa: E402

EFFECT, REFUSED, REMARK, NOTHING = "effect", "refused", "remark", "nothing"
"""An option changes the compile, raises, gives a warning, or asks for what is done anyway."""

Row = tuple[str, str]
SHARED: dict[str, Row] = {
    "help": ("--help", REFUSED),
    "model": ("another.onnx", REFUSED),
    "framework": ("--framework ONNX", REFUSED),
    "output": ("--output x.neff", REFUSED),
    "fast_math": ("--fast-math fast-relayout", EFFECT),
    "fp32_cast": ("--fp32-cast all-fp16", EFFECT),
    "optlevel": ("-O1", EFFECT),
    "neuroncore_pipeline_cores": ("--neuroncore-pipeline-cores 2", REFUSED),
    "verbose": ("--verbose info", EFFECT),
    "weights": ("--weights w.npz", REFUSED),
    "input_shape": ("--input-shape x=1x2", REFUSED),
    "io_config": ("--io-config {}", REFUSED),
    "signature": ("--signature serve", REFUSED),
    "report": ("--report unsupported", REFUSED),
    "dump_phases_to": ("--dump-phases-to dumps", REFUSED),
    "cache_dir": ("--cache-dir cache", EFFECT),
    "no_cache": ("--no-cache", EFFECT),
    "retry_failed_compilation": ("--retry_failed_compilation", EFFECT),
    "compile_to": ("--compile-to hlo", REFUSED),
    "compile_from": ("--compile-from hlo", REFUSED),
    "tiling": ("--tiling never", EFFECT),
    "load": ("--load examples/hard_tanh.py", EFFECT),
    "pass_after": ("--pass-after hlo=cse", EFFECT),
    "timing": ("--timing", REFUSED),
    "pass_statistics": ("--pass-statistics", REFUSED),
    "debug": ("--debug", REMARK),
    "logfile": ("--logfile log.txt", REFUSED),
    "enable_fast_context_switch": ("--enable-fast-context-switch", REMARK),
    "enable_fast_loading_neuron_binaries": ("--enable-fast-loading-neuron-binaries", REMARK),
    "enable_saturate_infinity": ("--enable-saturate-infinity", REMARK),
    "static_weights": ("--static-weights", REMARK),
}
NEURONX: dict[str, Row] = {
    **SHARED,
    "target": ("--target inf1", EFFECT),
    "auto_cast": ("--auto-cast none", EFFECT),
    "auto_cast_type": ("--auto-cast-type fp16", EFFECT),
    "enable_mixed_precision_accumulation": ("--enable-mixed-precision-accumulation", NOTHING),
    "native_int64": ("--native-int64 disabled", EFFECT),
    "enable_experimental_O1": ("--enable-experimental-O1", EFFECT),
    "model_type": ("--model-type transformer", REMARK),
    "lnc": ("--lnc 2", REFUSED),
    "jobs": ("--jobs 2", REMARK),
    "retries": ("--retries 2", REMARK),
    "memory_limit": ("--memory-limit 2G", REMARK),
    "scheduler": ("--scheduler tcp://host:1", REMARK),
    "summary": ("--summary s.json", REMARK),
    "disable_mixed_precision_accumulation": ("--disable-mixed-precision-accumulation", REMARK),
    "disable_dge": ("--disable-dge", REMARK),
    "hbm_scratchpad_page_size": ("--hbm-scratchpad-page-size 512", REMARK),
    "distribution_strategy": ("--distribution-strategy nemo", REMARK),
    "implicit_integer_downcast": ("--implicit-integer-downcast dot", REMARK),
    "tensorizer_options": ("--tensorizer-options=--x", REMARK),
    "internal_hlo2tensorizer_options": ("--internal-hlo2tensorizer-options --x", REMARK),
    "internal_max_instruction_limit": ("--internal-max-instruction-limit 5", REMARK),
    "enable_internal_neff_wrapper": ("--enable-internal-neff-wrapper", REMARK),
    "experimental_unsafe_fp8e4m3fn_as_fp8e4m3": (
        "--experimental-unsafe-fp8e4m3fn-as-fp8e4m3",
        REMARK,
    ),
    "pipeline": ("--pipeline compile SaveTemps", REMARK),
}
NEURON: dict[str, Row] = {
    **SHARED,
    "fast_math": ("--fast-math none", EFFECT),
    "workdir": ("--workdir dir", REFUSED),
    "pipeline": ("--pipeline compile SaveTemps", REFUSED),
    "dynamic_batch_size": ("--dynamic-batch-size", REFUSED),
    "batching_en": ("--batching_en", REMARK),
    "rematerialization_en": ("--rematerialization-en", REMARK),
    "spill_dis": ("--spill_dis", REMARK),
    "sb_size": ("--sb-size 5", REMARK),
    "enable_replication": ("--enable-replication true", REMARK),
    "extract_weights": ("--extract-weights yes", REMARK),
}
BOTH = ((neuronx_cc_args, parse_arguments, NEURONX), (neuron_cc_args, parse_inf1, NEURON))


def _options(compiler: ModuleType) -> set[str]:
    """The options of the command `compile`."""
    commands = next(
        a for a in compiler.build_parser()._actions if isinstance(a, argparse._SubParsersAction)
    )
    return {action.dest for action in commands.choices["compile"]._actions}


def _meaning(parsed: Namespace) -> object:
    """What the options decide."""
    users = parsed.load, parsed.pass_after
    return compile_options(parsed), parsed.target, parsed.level, cache_use(parsed), users


@pytest.mark.parametrize(("compiler", "parse", "table"), BOTH)
def test_no_option_is_forgotten(
    compiler: ModuleType, parse: Callable[[str], Namespace], table: dict[str, Row]
) -> None:
    assert set(table) == _options(compiler)


@pytest.mark.parametrize(
    ("parse", "words", "outcome"),
    [(parse, *row) for _, parse, table in BOTH for row in table.values()],
)
def test_option(parse: Callable[[str], Namespace], words: str, outcome: str) -> None:
    if outcome == REFUSED:
        option = words.split()[0].replace("--lnc", "--logical-nc-config")
        with pytest.raises(NeuronError, match=option) as caught:
            parse(words)
        assert caught.value.code in ("NIR_ARG002", "NIR_ARG003", "NCC_EARG001")
        return
    before, found = parse(""), parse(words)
    assert before.remarks == []
    assert (_meaning(found) != _meaning(before)) == (outcome == EFFECT)
    if outcome == REMARK:
        (line,) = found.remarks
        assert words.split()[0].split("=")[0].replace("_", "-") in line.replace("_", "-")
        assert "no effect" in line


def test_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "--logfile x --target inf1")
    with pytest.raises(NeuronError, match="NEURON_CC_FLAGS: --logfile x is not supported"):
        parse_arguments(None)
    with pytest.raises(NeuronError, match="compiler_args: --logfile y is not supported"):
        parse_arguments("--logfile y")
    monkeypatch.setenv("NEURON_CC_FLAGS", "--target inf1")
    assert parse_arguments(None).target == "inf1"
    assert parse_arguments("--target=inf2").target == "trn1"


def test_the_variable_is_read_as_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "--target trn1 --target inf1")
    assert parse_arguments(None).target == "inf1"
    assert parse_arguments(None, need_target=True).target == "inf1"
    assert parse_arguments("--target inf1 --target trn1").target == "trn1"
    monkeypatch.setenv("NEURON_CC_FLAGS", "'--target' \"inf1\"")
    assert parse_arguments(None).target == "inf1"
    monkeypatch.setenv("NEURON_CC_FLAGS", "--internal-hlo2tensorizer-options --target")
    assert parse_arguments(None).target == "trn1"
    with pytest.raises(NeuronError, match="cpu_backend=True needs a target"):
        parse_arguments(None, need_target=True)


@pytest.mark.parametrize("parse", (parse_arguments, parse_inf1))
def test_quotations_that_do_not_end(
    parse: Callable[..., Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NeuronError, match="compiler_args: No closing quotation") as caught:
        parse("--verbose 'info")
    assert caught.value.code == "NIR_ARG003"
    monkeypatch.setenv("NEURON_CC_FLAGS", "--verbose 'info")
    with pytest.raises(NeuronError, match="NEURON_CC_FLAGS: No closing quotation") as caught:
        parse(None)
    assert caught.value.code == "NIR_ARG003"


def test_messages_from_a_level_on(capfd: pytest.CaptureFixture[str]) -> None:
    """Remarks of the compiler are shown where they are asked for, also of other processes."""

    def model(x: Any) -> Any:
        return x.sort()[0]

    def both(arguments: str) -> list[bool]:
        torch_neuronx.trace(model, torch.randn(8, 64), compiler_args=arguments)
        found = ["through phase tiled" in capfd.readouterr().err]
        config = torch_neuronx.BucketModelConfig(lambda: torch.jit.script(kernels.choose))
        torch_neuronx.bucket_model_trace(
            lambda: (model, {}), [torch.randn(8, 64)], config, compiler_args=arguments
        )
        return [*found, "through phase tiled" in capfd.readouterr().err]

    assert both("--auto-cast none") == [False, False]
    assert both("--auto-cast none --verbose 20") == [True, True]
