"""Everything that NeuronIR registers can be loaded, and says what it is."""

import pytest
from xdsl.passes import ModulePass

from neuronir.cli.neuron_opt_lists import summary
from neuronir.pipeline import parse_pipeline, pipeline_text
from neuronir.registry import Registry
from neuronir.targets.registry import get_target, list_targets
from neuronir.universe import NEURONIR_UNIVERSE


@pytest.mark.parametrize("name", sorted(NEURONIR_UNIVERSE.all_passes))
def test_pass(name: str) -> None:
    """A pass has the name that it is registered under, a summary, and can be made."""
    pass_type = NEURONIR_UNIVERSE.all_passes[name]()
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == name
    assert pass_type.__name__ == "".join(map(str.capitalize, name.split("-"))) + "Pass"
    assert summary(pass_type)
    assert name.split("-")[0] in ("hlo", "tile", "nc", "lower")


@pytest.mark.parametrize("name", sorted(NEURONIR_UNIVERSE.all_dialects))
def test_dialect(name: str) -> None:
    """A dialect has its name, and its operations are prefixed with it."""
    dialect = NEURONIR_UNIVERSE.all_dialects[name]()
    assert dialect.name == name
    assert all(op.name.startswith(f"{name}.") for op in dialect.operations)


@pytest.mark.parametrize("name", sorted(NEURONIR_UNIVERSE.all_targets))
def test_format(name: str) -> None:
    """An output format has its name."""
    assert NEURONIR_UNIVERSE.all_targets[name]().name == name


def test_pipelines_round_trip() -> None:
    """Every named pipeline can be printed, and its text gives the same passes."""
    registry = Registry.discover()
    named = registry.pipelines()
    assert {"trn1", "inf1", "trn1:hlo", "hlo-simplify"} <= named.keys()
    for text in named.values():
        passes = parse_pipeline(text, registry.passes, registry.pipelines)
        assert parse_pipeline(pipeline_text(passes), registry.passes) == passes


def test_targets() -> None:
    """Ours are there, without being installed."""
    assert {"trn1", "inf1"} <= set(list_targets())
    for name in list_targets():
        assert get_target(name).name == name
