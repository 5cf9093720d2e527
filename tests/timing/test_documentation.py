"""The pages about machines say what the descriptions say."""

from pathlib import Path

import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.driver.result import encoding_of
from neuronir.targets.machine_doc import machine_markdown
from neuronir.targets.registry import get_target
from neuronir.targets.target import Target


@pytest.mark.parametrize("name", ["trn1", "inf1"])
def test_machine_page_lists_every_number(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "machine-trn1.md"
    assert machine_markdown(get_machine(name)) in page.read_text()


@pytest.mark.parametrize("name", ["trn1", "inf1"])
def test_targets_are_found_by_name(name: str) -> None:
    target = get_target(name)
    assert isinstance(target, Target)
    assert target.machine is get_machine(name)
    assert encoding_of(target).control_flow == target.machine.has_control_flow
