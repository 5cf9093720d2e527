"""The choice between the two ways from hlo to nc."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompiledResult, CompileOptions, compile_text, middle, too_slow
from neuronir.driver.least_time import least_ns
from neuronir.driver.middle import as_failure, choose_middle, through_tiles
from neuronir.driver.options import TILINGS
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.too_slow import TooSlow, check_work
from neuronir.passes.nc.engine_work import least_work_ns
from neuronir.passes.tile.lower_tile_to_nc import LowerTileToNcPass
from neuronir.targets import registry
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.trn1 import TARGET as TRN1
from tests.driver.attempts import EXACT, TURN, Compiles, compiled, fails, failure
from tests.driver.models import DENSE
from tests.driver.test_pipelined import LOOP


def nanoseconds(result: CompiledResult) -> float:
    """The simulated time of a program."""
    assert result.program is not None
    return float(simulate_timing(result.program, result.target.machine).total_ns)


def test_the_faster_way_is_kept() -> None:
    results = {tiling: compiled(TURN, tiling) for tiling in TILINGS}
    times = {tiling: nanoseconds(result) for tiling, result in results.items()}
    assert times["auto"] == times["always"] < times["never"] / 1.5
    program, other = results["auto"].program, results["always"].program
    assert program is not None and other is not None and program.streams == other.streams
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1536, 2048)).astype(np.float32)
    y = rng.normal(size=(2048, 1536)).astype(np.float32)
    (got,) = run(program, [x, y], get_machine("trn1")).outputs
    np.testing.assert_array_equal(got, x.T + y)


def test_small_programs_are_compiled_once() -> None:
    one, other = compiled(DENSE, "auto").program, compiled(DENSE, "never").program
    assert one is not None and other is not None and one.streams == other.streams


@pytest.mark.parametrize(
    "options", [replace(EXACT, tiling="always"), replace(EXACT, compile_to="tiled")]
)
def test_a_target_with_its_own_way_to_nc_has_no_tiles(
    options: CompileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_extra", {})
    machine = replace(TRN1.machine, name="own")
    pipelines = {"virtual": "lower-hlo-to-nc{target=own}"}
    registry.register_target(replace(TRN1, name="own", machine=machine, pipelines=pipelines))
    with pytest.raises(NeuronError, match="NIR_DRV011"):
        compile_text(DENSE, "own", options)


def test_inf1_has_tiles() -> None:
    program = compile_text(TURN, "inf1", replace(EXACT, tiling="always")).program
    assert program is not None
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1536, 2048)).astype(np.float32)
    y = rng.normal(size=(2048, 1536)).astype(np.float32)
    (got,) = run(program, [x, y], get_machine("inf1")).outputs
    np.testing.assert_array_equal(got, x.T + y)


def test_a_target_has_passes_of_its_own_to_tiles() -> None:
    """They are kept where smaller tiles are tried; tile-fuse with options decides for itself."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    ways = Compiles({"80": failure("NCC_EOOM002")})
    own = "tile-expand-composites,tile-fuse,sizes,tile-assign-layouts"
    _, chosen = through_tiles(module, get_machine("trn1"), ways, own)
    assert ways.asked[:2] == ["80", "50"]
    assert chosen.pipelines == {"tiled": own.replace("tile-fuse", "tile-fuse{room=50}")}
    ways = Compiles({"80": failure("NCC_EOOM002")})
    with pytest.raises(RunFailure):
        through_tiles(
            module, get_machine("trn1"), ways, own.replace("tile-fuse", "tile-fuse{room=60}")
        )
    assert ways.asked == ["80"]


def test_a_refusal_is_the_first_one() -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    first = failure("NCC_EOOM002")
    ways = Compiles({"direct": first, "80": failure("NIR_TIL001")})
    said: list[Message] = []
    with pytest.raises(RunFailure) as raised, handling(said.append):
        choose_middle(module, get_machine("trn1"), ways)
    assert raised.value is first and ways.asked == ["direct", "80"]
    assert [m.text for m in said] == ["refused through phase tiled, too: [NIR_TIL001] no"]


def test_the_direct_way_stays_where_tiles_are_refused() -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    chosen = choose_middle(module, get_machine("trn1"), Compiles({"80": failure("NIR_TIL001")}))
    assert not chosen.tiled


@pytest.mark.parametrize("refused", ["", "direct"])
def test_an_internal_error_is_none_to_fall_back_from(refused: str) -> None:
    """Neither one of the way without tiles, nor one of tiles where that way is refused."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    wrong = failure("NIR_NC010", internal=True)
    failures: dict[object, RunFailure] = {"direct": wrong, "80": wrong}
    if refused:
        failures[refused] = failure("NCC_EOOM002")
    with pytest.raises(RunFailure) as raised:
        choose_middle(module, get_machine("trn1"), Compiles(failures))
    assert raised.value is wrong


@pytest.mark.parametrize(
    "error",
    [
        failure("NIR_NC010", internal=True),
        RunFailure(Diagnostic("error", "no reason is declared")),
        KeyError("encoder"),
    ],
)
def test_a_fault_of_tiles_is_told_and_the_other_way_stands(error: Exception) -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    said: list[Message] = []
    with handling(said.append):
        chosen = choose_middle(module, get_machine("trn1"), fails(error))
    assert not chosen.tiled
    (told,) = [message for message in said if message.fault]
    assert told.severity == "warning" and told.text.endswith("compiled without phase tiled")
    assert as_failure(error).diagnostic.text in told.text


def test_larger_programs_are_tried_where_they_are_far(monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    machine = get_machine("trn1")
    monkeypatch.setattr(middle, "LARGEST", 1)
    for times, tried in ((10.0, False), (1.1 * middle.FAR, True)):
        ways = Compiles({"80": failure("NIR_TIL001")})
        time = times * least_ns(module, machine)
        monkeypatch.setattr(middle, "_timing", lambda result, machine, time=time: (time, 0.0))
        choose_middle(module, machine, ways)
        assert ways.asked == (["direct", "80"] if tried else ["direct"])


def test_many_small_ops_are_not_far_from_their_instructions() -> None:
    """Random bits on inf1 are a thousand ops of pieces of integers: 84 us, far from the bound of
    their bytes, but not from that of their instructions."""
    text = """HloModule bits
ENTRY main {
  state = u64[2] parameter(0)
  ROOT bits = (u64[2], u32[5,31]) rng-bit-generator(state), algorithm=rng_philox
}
"""
    module = compile_text(text, "inf1", replace(EXACT, compile_to="hlo")).module
    machine = get_machine("inf1")
    assert middle.FAR * least_ns(module, machine) < 10e3
    assert middle.far_ns(module, machine) > 100e3


def test_a_reproducer_begins_where_tiles_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passes that made the module in front of the failure are those from `hlo` on."""
    loaded: list[str] = []

    def noted(failure: RunFailure, load: Callable[[], ModuleOp], *rest: object) -> None:
        phase = load().attributes["neuronir.phase"]
        assert isinstance(phase, StringAttr)
        loaded.append(phase.data)

    def broken(self: LowerTileToNcPass, ctx: Context, op: ModuleOp) -> None:
        raise ValueError

    monkeypatch.setattr("neuronir.driver.compiler.write_reproducer", noted)
    monkeypatch.setattr(LowerTileToNcPass, "apply", broken)
    with pytest.raises(RunFailure):
        compiled(TURN, "always")
    assert loaded == ["hlo"]


@pytest.mark.parametrize("tiles", ["NIR_LOW001", "NCC_EOOM002"])
def test_loops_that_tiles_refuse_are_tried_once(tiles: str) -> None:
    """The direct path unrolls them; what comes out is kept, however far from the bound."""
    module = compile_text(LOOP, "trn1", replace(EXACT, compile_to="hlo")).module
    assert any(op.name == "hlo.while" for op in module.walk())
    rooms = ["80", "50", "25", "10"]
    ways = Compiles(dict.fromkeys(rooms, failure(tiles)))
    assert not choose_middle(module, get_machine("trn1"), ways).tiled
    asked = rooms if tiles == "NCC_EOOM002" else rooms[:1]
    assert ways.asked == [*asked, "direct"]
    ways = Compiles({**dict.fromkeys(rooms, failure(tiles)), "direct": failure("NCC_EVRF001")})
    with pytest.raises(RunFailure, match="NCC_EVRF001"):
        choose_middle(module, get_machine("trn1"), ways)
    assert ways.asked == [*asked, "direct"]


def test_an_attempt_that_cannot_be_faster_ends_early() -> None:
    """Its instructions are counted before they are put in order."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    ways = fails(TooSlow(1e9))
    said: list[Message] = []
    with handling(said.append):
        assert not choose_middle(module, get_machine("trn1"), ways).tiled
    assert ways.asked == ["direct"]
    (told,) = said
    assert told.text == "through phase tiled: at least 1000000.0 us of work, not tried"


def test_the_work_of_engines_bounds_the_time() -> None:
    for text in (TURN, DENSE, LOOP):
        virtual = compile_text(text, "trn1", replace(EXACT, compile_to="virtual")).module
        program = compile_text(text, "trn1", EXACT).program
        assert program is not None
        machine = get_machine("trn1")
        time = simulate_timing(program, machine).total_ns
        assert 0 < least_work_ns(virtual, machine) <= time
        with pytest.raises(TooSlow):
            check_work(virtual, machine, least_work_ns(virtual, machine) - 1)
        check_work(virtual, machine, time)


@pytest.mark.parametrize(
    ("tiles_us", "asked", "tiled"),
    [
        (900.0, ["direct", "80"], True),  # less than the work of the direct path
        (1500.0, ["direct", "80", "direct"], True),
        (2500.0, ["direct", "80", "direct"], False),
        (inf, ["direct", "80", "direct"], False),  # refused: the direct path has no limit then
    ],
)
@pytest.mark.thin(2)
def test_tiles_come_first_where_the_direct_way_is_far_behind(
    tiles_us: float, asked: list[str], tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of the direct path is 1,000 us, and its time 2,000 us."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    done = {True: compiled(TURN, "always"), False: compiled(TURN, "never")}
    ways = Compiles({})
    limits: list[float] = []

    def way(
        tiled: bool,
        pipelines: Mapping[str, str] | None = None,
        limit_ns: float = inf,
        first: bool = True,
    ) -> CompiledResult:
        ways.asked.append("80" if tiled else "direct")
        if tiled and tiles_us == inf:
            raise failure("NIR_TIL001")
        limits.append(limit_ns)
        if not tiled and limit_ns < 1e6:
            raise TooSlow(1e6)
        assert first == (tiled or limit_ns in (1e5, inf))
        return done[tiled]

    times = {id(done[True]): (tiles_us * 1e3, inf), id(done[False]): (2e6, inf)}
    monkeypatch.setattr(middle, "_timing", lambda result, machine: times[id(result)])
    monkeypatch.setattr(middle, "_first_ns", lambda *_: 1e5)
    monkeypatch.setattr(middle, "near_ns", lambda *_: 2.2e6)
    assert choose_middle(module, get_machine("trn1"), way).tiled == tiled
    assert ways.asked == asked
    assert limits[0] == 1e5 and limits[-1] == (tiles_us * 1e3 if tiles_us > 1000 else inf)


def test_tiles_come_first_sooner_where_the_direct_way_has_many_ops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To put 60,000 instructions in order takes a minute."""
    module = compile_text(TURN, "trn1", replace(EXACT, compile_to="virtual")).module
    assert too_slow.first_limit_ns(module, 1e6) == 1e6
    monkeypatch.setattr(too_slow, "LONG", 2)
    assert too_slow.first_limit_ns(module, 1e6) == 2.5e5
    assert too_slow.first_limit_ns(module, inf) == inf


def test_a_direct_path_of_very_many_ops_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowering 140,000 instructions takes 15 s: the first ones say that tiles come first."""
    chain = "\n".join(f"y{i + 1} = f32[128,64] tanh(y{i})" for i in range(30))
    text = f"HloModule m\nENTRY e {{\ny0 = f32[128,64] parameter(0)\n{chain}\n"
    text += "ROOT r = f32[128,64] negate(y30)\n}"
    machine, options = get_machine("trn1"), replace(EXACT, compile_to="virtual", tiling="never")
    whole = least_work_ns(compile_text(text, "trn1", options).module, machine)
    with too_slow.long_ones_given_up(machine):
        compile_text(text, "trn1", options)
    monkeypatch.setattr(too_slow, "LONGEST", 20)
    with pytest.raises(TooSlow) as found, too_slow.long_ones_given_up(machine):
        compile_text(text, "trn1", options)
    assert 0 < found.value.work_ns < whole
    compile_text(text, "trn1", options)


def test_tiles_that_came_first_and_failed_are_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither path compiles this program, and the direct one says why."""
    monkeypatch.setattr(middle, "_first_ns", lambda *_: 1.0)
    text = (Path(__file__).parents[2] / "lit" / "driver" / "Inputs" / "large.hlo").read_text()
    with pytest.raises(RunFailure, match="NCC_EOOM002"):
        compile_text(text, "trn1", EXACT)


def test_tiles_are_tried_sooner_for_few_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch norm in training takes 21 us through tiles, 42 without, which is little in BERT."""
    machine = get_machine("trn1")
    monkeypatch.setattr(middle, "least_ns", lambda *_: 0.0)
    few = compile_text(TURN, "trn1", replace(EXACT, compile_to="hlo")).module
    assert middle.near_ns(few, machine) == middle.SHORT_NS
    monkeypatch.setattr(middle, "FEW", 2)
    assert middle.near_ns(few, machine) == middle.SMALL_NS
