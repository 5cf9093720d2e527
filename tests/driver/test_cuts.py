"""Where programs are cut into stages of a pipeline."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from xdsl.ir import Operation

from neuronir.dialects.nc.machine import link_ns
from neuronir.driver import compile_file
from neuronir.driver.module_input import Chunk, parse
from neuronir.driver.weights import entry_function
from neuronir.passes.hlo.stages.costs import bytes_of, live_bytes
from neuronir.passes.hlo.stages.cuts import find_cuts
from neuronir.passes.hlo.stages.graph import Graph
from neuronir.registry import Registry
from tests.driver.test_pipelined import INF1, bert


def test_many_places_to_cut() -> None:
    """Where all send the same, they are looked at from the first to the last."""
    units = 6000
    costs = np.tile([1000.0, 10.0, 0.0, 0.0], (units, 1))
    found = find_cuts(costs, np.full(units + 1, 4096.0), INF1, 4)
    sizes = np.diff(found.bounds)
    assert len(sizes) == 4 and sizes.max() - sizes.min() < 20


def test_chain_of_constants_that_are_read_twice() -> None:
    """Whether an op follows from constants is decided once for each op."""
    lines = ["%c0 = hlo.constant dense<1.0> : tensor<4xf32>"]
    lines += [f"%c{n + 1} = hlo.add %c{n}, %c{n} : tensor<4xf32>" for n in range(60)]
    lines += ["%y = hlo.multiply %x, %c60 : tensor<4xf32>", "func.return %y : tensor<4xf32>"]
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + "\n".join(lines) + "}"
    module = parse(Chunk(text, "m", "mlir"), Registry.discover().context())
    graph = Graph.of(entry_function(module).body.block)
    assert [op.name for op in graph.units] == ["hlo.multiply"] and len(graph.copied) == 61


def test_what_crosses_a_cut() -> None:
    """The bytes are those of the values that a unit before reads or makes and one behind reads."""
    path, options, _ = bert()
    module = compile_file(str(path), "inf1", replace(options, compile_to="hlo")).module
    graph = Graph.of(entry_function(module).body.block)
    sent = live_bytes(graph)
    for cut in range(0, len(graph.units) + 1, 7):
        values = {v for reads in graph.reads[cut:] for v in reads if graph.made[v] < cut}
        values |= {v for v in graph.last if graph.made[v] < cut <= graph.last[v]}
        assert sent[cut] == sum(bytes_of(v) for v in values)
    for number, op in enumerate(graph.units):
        assert isinstance(op, Operation)
        assert all(graph.made[v] < number for v in graph.reads[number])


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, cores = 9, int(rng.integers(1, 7))
    costs = rng.integers(1, 5000, (units, 4)).astype(float)
    costs[:, 3] *= 100  # weights, of which some stages have more than fit in SBUF
    sent = rng.integers(0, 400_000, units + 1).astype(float)
    found = find_cuts(costs, sent, INF1, cores)

    def bottleneck(bounds: tuple[int, ...]) -> float:
        times = [0.0]
        for stage, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False)):
            pe, vector, dma, weights = costs[low:high].sum(axis=0)
            dma += (sent[low] if low else 0.0) / INF1.dma_gbps
            dma += (sent[high] if high < units else 0.0) / INF1.dma_gbps
            room = 0.75 * INF1.sbuf_usable_partition_bytes * INF1.partitions
            dma += weights if weights * INF1.dma_gbps > room else 0.0
            times += [max(pe, vector, dma), link_ns(sent[low], stage, INF1) if stage else 0.0]
        return max(times)

    every = (
        (0, *inner, units)
        for count in range(cores)
        for inner in combinations(range(1, units), count)
    )
    least = min(map(bottleneck, every))
    assert found.stages <= cores
    assert found.bottleneck_ns == pytest.approx(least)
    assert bottleneck(found.bounds) == pytest.approx(least)
