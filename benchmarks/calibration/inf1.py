"""Published times of models on Inf1 against simulated ones.

    python -m benchmarks.calibration.inf1 [NAME ...]

compiles the models of the corpus that have published figures, with random weights bound, and prints
the table of docs/accuracy.md. Most numbers of the machine are assumed. The published compiler looks
word vectors up on the host; here their table has 512 rows, so that the lookup takes little time.
"""

import csv
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.dialects.builtin import TensorType, f32

from neuronir.dialects.nc.machine import Machine
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.pipelined import compile_pipelined
from neuronir.driver.weights import entry_function, parameter_names
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.pipelined import program_time, time_pipeline
from neuronir.targets.simulator.together import time_together
from tests.corpus import CORPUS

MEASURED = Path(__file__).with_name("measured.csv")
OPTIONS = CompileOptions(auto_cast="matmult", relayout="bf16")
"""Products and transposes in bf16, as `neuron-cc --fast-math fp32-cast-matmult-bf16`."""
BERT = "bench/bert_base_b8"
RESNET = "bench/resnet50_b4"
BATCHES = {BERT: 8, RESNET: 4}
"""Models that `batched` changes, and their stored batch."""


@dataclass(frozen=True)
class Figure:
    """A published figure: `id` names its row of measured.csv. `simulate` gives the sequences or
    images a second of the simulator."""

    id: str
    what: str
    simulate: Callable[[], float]


@dataclass(frozen=True)
class Published:
    """A row of measured.csv: `per_s` are sequences or images a second of all `cores`, of `flops`
    each."""

    cores: int
    per_s: float
    flops: float

    @staticmethod
    def of(row: Mapping[str, str]) -> "Published":
        """Read a row; ValueError for a unit that is neither a rate nor the time of one sequence."""
        value, unit = float(row["value"]), row["unit"]
        if unit not in ("1/s", "img/s", "ms"):
            raise ValueError(f"{row['id']}: the unit '{unit}' is not known")
        per_s = 1e3 / value if unit == "ms" else value
        return Published(int(row["cores"]), per_s, 1e9 * float(row["gflop_per_exec"]))


def published() -> dict[str, Published]:
    """What was measured, by the names of the figures."""
    names = {figure.id for figure in FIGURES}
    with open(MEASURED, newline="") as file:
        return {row["id"]: Published.of(row) for row in csv.DictReader(file) if row["id"] in names}


def bound(path: str) -> CompileOptions:
    """The options, with random values for all arguments but the data, which come last: two arrays
    of tokens, or one image."""
    module = compile_file(path, "inf1", replace(OPTIONS, compile_to="parsed")).module
    arguments = entry_function(module).body.block.args
    names = parameter_names(module)
    rng = np.random.default_rng(0)
    weights = {}
    for index, (name, argument) in enumerate(zip(names, arguments, strict=True)):
        assert isinstance(argument.type, TensorType)
        shape, floating = argument.type.get_shape(), argument.type.element_type == f32
        if floating and not (index == len(names) - 1 and len(shape) == 4):
            positive = np.abs(rng.standard_normal(shape, np.float32)) * 0.02 + 0.01
            weights[name or f"arg{index}"] = positive.astype(np.float32)
    return replace(OPTIONS, weights=weights)


def model_file(model: str, folder: str, batch: int | None = None) -> str:
    """A copy of a model of the corpus in a folder, with a vocabulary of 512, and of another batch
    if the model is one of BATCHES."""
    text = (CORPUS / "hlo" / f"{model}.hlo").read_text()
    if batch is not None and model in BATCHES:
        text = batched(text, BATCHES[model], batch)
    path = Path(folder, f"{Path(model).name}.hlo")
    path.write_text(text.replace("30522", "512").replace("30521", "511"))
    return str(path)


def batched(text: str, stored: int, batch: int) -> str:
    """A model at another batch, its first dimension, or the second after the heads."""
    text = re.sub(rf"\[(12,)?{stored},", rf"[\g<1>{batch},", text)
    return text.replace(f"[0:{stored}]", f"[0:{batch}]")


def _machine() -> Machine:
    found: Machine = get_target("inf1").machine
    return found


def copies(model: str, batch: int, cores: int) -> float:
    """Sequences or images a second of copies of a model, one on each of `cores` cores."""
    with TemporaryDirectory() as folder:
        path = model_file(model, folder, batch)
        program = compile_file(path, "inf1", bound(path)).program
    assert program is not None
    machine = _machine()
    if cores == 1:
        return batch * 1e9 / program_time(program, machine).run_ns
    return batch * time_together([program] * cores, machine).requests_per_s


def pipeline(model: str, batch: int, cores: int) -> float:
    """Sequences a second of a pipeline."""
    with TemporaryDirectory() as folder:
        path = model_file(model, folder, batch)
        result = compile_pipelined(path, "inf1", bound(path), cores)
    return batch * time_pipeline(result.pipeline, _machine()).requests_per_s


FIGURES = (
    Figure(
        "I1-bert-base-cased-b1-1core",
        "BERT base, 128 tokens, batch 1",
        lambda: copies("core/hf_bert_base", 1, 1),
    ),
    Figure(
        "I1-bert-base-cased-b8-4core",
        "BERT base, 128 tokens, batch 8, a copy on each core",
        lambda: copies(BERT, 8, 4),
    ),
    Figure(
        "I1-bert-base-uncased-b6-4core",
        "BERT base, 128 tokens, batch 6, a copy on each core",
        lambda: copies(BERT, 6, 4),
    ),
    Figure(
        "I1-bertbase-b4-4core",
        "BERT base, 128 tokens, batch 4, a copy on each core",
        lambda: copies(BERT, 4, 4),
    ),
    Figure(
        "I1-bertbase-pipe16",
        "BERT base, 128 tokens, batch 1, a pipeline",
        lambda: pipeline("core/hf_bert_base", 1, 16),
    ),
    Figure(
        "I1-rn50keras-b1",
        "ResNet-50, batch 1, a copy on each core",
        lambda: copies("core/hf_resnet50", 1, 16),
    ),
    Figure(
        "I1-rn50keras-b2",
        "ResNet-50, batch 2, a copy on each core",
        lambda: copies(RESNET, 2, 16),
    ),
    Figure(
        "I1-rn50keras-b4",
        "ResNet-50, batch 4, a copy on each core",
        lambda: copies(RESNET, 4, 16),
    ),
    Figure(
        "I1-rn50keras-b5",
        "ResNet-50, batch 5, a copy on each core",
        lambda: copies(RESNET, 5, 16),
    ),
)


def main(names: list[str]) -> int:
    """Print the table, for the figures of these names or for all."""
    heads = "figure", "what", "cores", "published /s", "of peak %"
    print("| " + " | ".join((*heads, "simulated /s", "of peak %", "error %")) + " |")
    print("|---|---|---|---|---|---|---|---|")
    peak, measured = _machine().peak_flops_bf16, published()
    for figure in FIGURES:
        if names and figure.id not in names:
            continue
        found, known = figure.simulate(), measured[figure.id]
        percent = 100 * known.flops / (peak * known.cores)
        cells = (
            figure.id,
            figure.what,
            str(known.cores),
            f"{known.per_s:.1f}",
            f"{percent * known.per_s:.1f}",
            f"{found:.1f}",
            f"{percent * found:.1f}",
            f"{100 * (found / known.per_s - 1):+.0f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
