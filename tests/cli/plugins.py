"""Packages of examples, installed beside NeuronIR without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def install(example: Path, into: Path) -> tuple[Path, dict[str, str]]:
    """A copy of a package in the folder `into`, and the environment in which it is installed."""
    folder, site = into / example.name, into / "site"
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([*pip, *offline, str(folder)], check=True, timeout=120)
    binaries = Path(sys.executable).parent
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(site), str(ROOT)]),
        PATH=os.pathsep.join([str(binaries), os.environ.get("PATH", "")]),
    )
    return folder, environment
