"""What each technique gains on a model: simulated time with it and without it.

`python -m benchmarks.techniques FILE.hlo [--cast none|matmult] [--weights] [--only TEXT]` compiles
once as usual, and once more for each technique with the option that switches it off, or without its
pass.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from benchmarks.corpus import Model
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompiledResult, CompileOptions, compile_file
from neuronir.driver.dumper import Dumper, DumpOptions
from neuronir.driver.pass_runner import PassRunner, RunFailure
from neuronir.driver.phases import pipeline_of
from neuronir.driver.timer import Timer
from neuronir.pipeline import parse_pipeline
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.timing import simulate_timing


@dataclass(frozen=True)
class Technique:
    """A technique, the pass that does it, and the options that switch it off; without options the
    pass is left away."""

    name: str
    pass_name: str
    off: str = ""


TECHNIQUES = (
    Technique("layouts assigned for all products together", "hlo-assign-layouts"),
    Technique("layouts that ops behind the next one want", "lower-hlo-to-nc", "lookahead=1"),
    Technique("search over blocks of products", "hlo-choose-blocks"),
    Technique("evictions balanced over ACT and DVE", "nc-balance-evictions"),
    Technique("equal layers lowered once", "lower-hlo-to-nc", "layers=0"),
    Technique("strands of the batch, staggered", "hlo-split-batch", "strands=1"),
    Technique("attention by tiles of heads", "hlo-split-attention"),
    Technique("values between dots in parts", "hlo-split-hidden"),
    Technique("depth first: bands of rows", "hlo-tile-rows"),
    Technique("depth first: parts of the batch", "hlo-tile-batch"),
    Technique("readers of PSUM instead of copies", "nc-forward-psum"),
    Technique("values of ACT and DVE held in PSUM", "nc-hold-in-psum"),
    Technique("list scheduling", "nc-schedule", "window=1"),
    Technique("two windows of the scheduler", "nc-schedule", "narrow=0"),
    Technique("software pipelining", "nc-pipeline"),
    Technique("weights loaded ahead over layers", "nc-prefetch"),
    Technique("layers rotated", "nc-rotate"),
    Technique("weights loaded again", "nc-reload-weights"),
    Technique("rematerialisation in place of spills", "nc-spill", "rematerialise=false"),
    Technique("parts of buffers spilled apart", "nc-spill", "parts=false"),
    Technique("PSUM banks rotated", "nc-assign-banks", "rotate=false"),
    Technique("weights loaded far ahead (ring over 16 KiB)", "nc-allocate", "ring=16384"),
    Technique("search for a packing of SBUF", "nc-allocate", "search=0"),
    Technique("inputs loaded while a loop runs", "nc-allocate", "loops=false"),
    Technique("loads of what earlier groups left in HBM in pieces", "nc-split-loads"),
    Technique("large transfers in pieces", "nc-split-transfers"),
)
_PHASES = ("virtual", "ordered", "allocated", "synchronised")


def without(pipeline: str, technique: Technique | None) -> str:
    """A pass string with a technique switched off."""
    if technique is None:
        return pipeline
    if not technique.off:
        return ",".join(p for p in pipeline.split(",") if p != technique.pass_name)
    option = f"{technique.pass_name}{{{technique.off}}}"
    return ",".join(option if p == technique.pass_name else p for p in pipeline.split(","))


def simulated_us(hlo: CompiledResult, technique: Technique | None) -> float:
    """Microseconds of a module of phase `hlo` when the rest is compiled without a technique."""
    module: ModuleOp = hlo.module.clone()
    ctx = hlo.registry.context()
    runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer(), verify_each=False)
    for phase in _PHASES:
        text = without(pipeline_of(hlo.target, phase, "none", "bf16", 2), technique)
        runner.run(parse_pipeline(text, hlo.registry.passes, hlo.registry.pipelines), module)
    machine = hlo.target.machine
    return simulate_timing(program_from_module(module, machine), machine).total_ns / 1e3


def rows(hlo: CompiledResult, techniques: Sequence[Technique]) -> Iterator[str]:
    """The lines of the table."""
    base = simulated_us(hlo, None)
    yield "| technique | switched off by | us without | us | gain |"
    yield "|---|---|---|---|---|"
    for t in techniques:
        option = f"`{t.pass_name}{{{t.off}}}`" if t.off else f"no `{t.pass_name}`"
        try:
            time = simulated_us(hlo, t)
        except (RunFailure, NeuronError) as error:
            reason = str(getattr(error, "diagnostic", error)).splitlines()[0]
            yield f"| {t.name} | {option} | fails: {reason} | {base:.1f} | |"
            continue
        yield f"| {t.name} | {option} | {time:.1f} | {base:.1f} | {100 * (1 - base / time):.1f} % |"


def main() -> None:
    """Print the table of one model."""
    parser = argparse.ArgumentParser(prog="benchmarks.techniques", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cast", default="matmult", choices=["none", "matmult"])
    parser.add_argument("--weights", action="store_true", help="bind the weights as constants")
    parser.add_argument("--only", default="", help="techniques whose name has this text")
    args = parser.parse_args()
    model = Model(args.file)
    bound = model.weights(model.args()) if args.weights else {}
    options = CompileOptions(auto_cast=args.cast, weights=bound, compile_to="hlo")
    hlo = compile_file(str(model.path), "trn1", options)
    for row in rows(hlo, [t for t in TECHNIQUES if args.only in t.name]):
        print(row, flush=True)


if __name__ == "__main__":
    main()
