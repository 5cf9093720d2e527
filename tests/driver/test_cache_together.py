"""Several processes that put compiled models into one cache at once."""

import json
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from neuronir.cache import Cache
from tests.driver.models import write_model
from tests.driver.test_cache import entry_of, keep

_COMPILE = "import sys; from neuronir.cli.neuronx_cc import main; sys.exit(main(sys.argv[1:]))"
_PUT = """
import sys
from pathlib import Path
from neuronir.cache import Cache
from neuronir.cache_entry import About
cache = Cache(Path(sys.argv[1]))
entry = Path(sys.argv[2])
broken = int(sys.argv[4])
for number in range(200):
    if broken and number % 7 == 0:
        try:
            (entry / "model.neff").write_bytes(b"cut")
        except FileNotFoundError:
            pass
    with cache.part(entry) as part:
        (part / "model.neff").write_bytes(Path(sys.argv[3]).read_bytes())
        cache.put(part, entry, About([]))
"""


def together(commands: Sequence[Sequence[str]]) -> list[str]:
    """Run Python with these arguments, all at once; what each says. All must succeed."""
    running = [
        subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for arguments in commands
    ]
    said = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), said
    return said


def check_whole(cache: Path) -> list[Path]:
    """The entries, each with what its digest says; nothing else is left in the cache."""
    (version,) = cache.glob("neuronxcc-*")
    for entry in version.iterdir():
        assert entry.name.startswith("MODULE_"), f"{entry} stayed behind"
        about = json.loads((entry / "entry.json").read_text())
        assert about["sha256"] == sha256((entry / "model.neff").read_bytes()).hexdigest()
    return sorted(version.iterdir())


def test_compiles_of_the_same_and_of_other_models(tmp_path: Path) -> None:
    model = write_model(tmp_path)[0]
    base = ["-c", _COMPILE, "compile", model, "--framework", "XLA", "--target", "trn1"]
    base += ["--verbose", "info", "--cache-dir", str(tmp_path / "cache")]
    options = [[], [], [], ["-O1"], ["--auto-cast", "none"]]
    outputs = [str(tmp_path / f"{n}.neff") for n in range(len(options))]
    said = together([[*base, *o, "-o", out] for o, out in zip(options, outputs, strict=True)])
    assert not any("warning" in text.lower() for text in said), said
    assert len(check_whole(tmp_path / "cache")) == 3
    assert len({Path(out).read_bytes() for out in outputs[:3]}) == 1
    again = together([[*base, "-o", outputs[0]]])
    assert "Using a cached neff" in again[0]


def test_one_entry_that_all_put(tmp_path: Path) -> None:
    """Also where another writer breaks it in between: it is replaced, and nobody fails."""
    made = tmp_path / "made"
    made.write_bytes(b"neff" * 1000)
    folder = tmp_path / "cache"
    entry = entry_of(Cache(folder), made)
    common = ["-c", _PUT, str(folder), str(entry), str(made)]
    together([[*common, broken] for broken in "0001"])
    keep(Cache(folder), entry, made.read_bytes())
    assert check_whole(folder) == [entry]


def test_parts_of_killed_processes_go(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"neff")
    cache = Cache(tmp_path / "cache")
    entry = entry_of(cache, made)
    left = entry.parent / ".part-left"
    left.mkdir(parents=True)
    (left / "model.neff").write_bytes(b"ne")
    with cache.part(entry) as living:
        keep(cache, entry, b"neff")
        assert sorted(entry.parent.iterdir()) == sorted([entry, living])
