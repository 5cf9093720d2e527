"""Collect the metadata that a binary records about its compile."""

import json

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from neuronir.driver.options import CompileOptions
from neuronir.frontends.graph.module import INPUT_NAMES, OUTPUT_NAMES
from neuronir.passes.hlo.integers.interface import WORD_INPUTS, WORD_OUTPUTS
from neuronir.passes.hlo.narrow_int64 import INPUT_RANGES, WIDE_INPUTS, WIDE_OUTPUTS
from neuronir.version import __version__


def metadata_of(module: ModuleOp, options: CompileOptions) -> dict[str, str]:
    """Return the metadata of a module's program for these options."""
    known = {
        "module": "hlo.module_name",
        "precision": "hlo.auto_cast",
        "relayout": "hlo.relayout",
        "input_sha256": "neuronir.input",
        "weights_sample_sha256": "neuronir.weights",
        "arguments": "neuronir.arguments",
    }
    found = {
        key: attr.data
        for key, name in known.items()
        if isinstance(attr := module.attributes.get(name), StringAttr)
    }
    for key, name in (("inputs", INPUT_NAMES), ("outputs", OUTPUT_NAMES)):
        names = module.attributes.get(name)
        if isinstance(names, ArrayAttr):
            listed = [text.data for text in names if isinstance(text, StringAttr)]
            found[key] = json.dumps(listed)
    for key, name in (
        ("wide_inputs", WIDE_INPUTS),
        ("wide_outputs", WIDE_OUTPUTS),
        ("word_inputs", WORD_INPUTS),
        ("word_outputs", WORD_OUTPUTS),
    ):
        wide = module.attributes.get(name)
        if isinstance(wide, DictionaryAttr):
            types = {k: v.data for k, v in wide.data.items() if isinstance(v, StringAttr)}
            found[key] = json.dumps(types)
    ranges = module.attributes.get(INPUT_RANGES)
    if isinstance(ranges, DictionaryAttr):
        found["input_ranges"] = json.dumps(
            {k: [n.data for n in v] for k, v in ranges.data.items() if isinstance(v, ArrayAttr)}
        )
    return {
        "compiler": f"NeuronIR {__version__}",
        "options": options.text(),
        **found,
    }
