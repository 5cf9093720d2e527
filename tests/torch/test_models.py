"""Networks of transformers and torchvision on the simulated trn1, against torch and against JAX."""

import time
from functools import partial
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")

from torch.utils import _pytree as pytree  # noqa: E402

import neuronir  # noqa: E402
import neuronir.torch as torch_neuronx  # noqa: E402
from benchmarks.corpus import models  # noqa: E402
from neuronir.driver import CompileOptions  # noqa: E402
from neuronir.driver.compiler import compile_file, compile_model  # noqa: E402
from neuronir.driver.judge import judge_compile  # noqa: E402
from neuronir.driver.specification import specify  # noqa: E402
from neuronir.frontends.torch import import_torch  # noqa: E402
from neuronir.frontends.torch.export import export  # noqa: E402
from neuronir.frontends.torch.model import TorchModel  # noqa: E402
from neuronir.frontends.torch.types import array_of  # noqa: E402
from neuronir.targets.neff.writer import neff_pieces  # noqa: E402
from neuronir.version import __version__  # noqa: E402
from tests.differential.stages import judge  # noqa: E402
from tests.torch.networks import NETWORKS, base_size, network  # noqa: E402

pytestmark = pytest.mark.slow
SHARE = 0.03
"""How far the share of the roofline may be from that of the same model from JAX."""
CALL_MS = 5.0
"""What a traced call may take beside the simulation."""


def _results(model: Any, inputs: Any) -> list[Any]:
    with torch.no_grad():
        return [array_of(t) for t in pytree.tree_leaves(model(*inputs))]


@pytest.mark.parametrize("cast", ("none", "matmult"))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, cast: str) -> None:
    """Within the bounds of the precision of torch's results, and within rounding noise of the
    interpreter's on the program with casts."""
    model, inputs = network(name)
    traced = torch_neuronx.trace(model, inputs, compiler_args=f"--auto-cast {cast}")
    found, arrays = _results(traced, inputs), [array_of(t) for t in inputs]
    program = export(model, inputs)
    wanted = {f"out{i}": x for i, x in enumerate(_results(model, inputs))}
    report = judge(import_torch(program).module, found, arrays, wanted, cast)
    assert report.ok, report.render()
    compile_ = partial(compile_model, TorchModel(program), "trn1")
    specification = specify(compile_, CompileOptions(auto_cast=cast))
    report = judge_compile(specification, arrays, found)
    assert report.ok, report.render()


def _cpu(function: Any) -> tuple[Any, float]:
    start = time.process_time()
    return function(), time.process_time() - start


@pytest.mark.parametrize("name", ("bert_base", "resnet50"))
def test_base_size_like_jax(name: str) -> None:
    """The program of JAX and the trace of torch have the same share of their rooflines; the trace
    takes at most twice the time of the compile."""
    (other,) = models(names=[f"hf_{name}"])
    options = CompileOptions(weights=other.weights(other.args()))

    def compiled() -> tuple[neuronir.Executable, bytes]:
        found = compile_file(str(other.path), "trn1", options)
        assert found.program is not None
        executable = neuronir.Executable(found.program, found.encoding)
        return executable, b"".join(neff_pieces(found.program, __version__, found.encoding))

    (executable, _), alone = _cpu(compiled)
    jax = executable.report()
    model, inputs = base_size(name)
    traced, whole = _cpu(lambda: torch_neuronx.trace(model, inputs))
    ours = torch_neuronx.report(traced)
    print(
        f"{name}: torch {ours['total_time_us']:.1f} us ({ours['roofline_percent']:.1f} %), ", end=""
    )
    print(f"JAX {jax['total_time_us']:.1f} us ({jax['roofline_percent']:.1f} %), ", end="")
    print(f"trace {whole:.1f} s, compile of JAX's program {alone:.1f} s of CPU")
    assert ours["roofline_percent"] >= jax["roofline_percent"] * (1 - SHARE)
    assert ours["total_time_us"] <= jax["total_time_us"] * (1 + SHARE)
    assert whole <= 2 * alone


def test_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the simulation, a call takes a few milliseconds."""
    model, inputs = network("bert")
    traced = torch_neuronx.trace(model, inputs)
    inside = 0.0
    simulate = neuronir.Executable.__call__

    def timed(*args: Any) -> Any:
        nonlocal inside
        start = time.perf_counter()
        found = simulate(*args)
        inside += time.perf_counter() - start
        return found

    monkeypatch.setattr(neuronir.Executable, "__call__", timed)
    traced(*inputs)
    rest = []
    for _ in range(9):
        inside = 0.0
        start = time.perf_counter()
        traced(*inputs)
        rest.append(1e3 * (time.perf_counter() - start - inside))
    print(f"a call takes {np.median(rest):.2f} ms beside the simulation, {1e3 * inside:.1f} ms")
    assert np.median(rest) < CALL_MS
