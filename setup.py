"""Only a guard: refuse to build when the three links were lost (zip, Windows)."""

from pathlib import Path

from setuptools import setup

for _name in ("dialects", "passes", "targets"):
    if not (Path(__file__).parent / "neuronir" / _name / "__init__.py").is_file():
        raise SystemExit(f"neuronir/{_name} is not a folder: clone with core.symlinks=true")
setup()
