"""Importing NeuronIR leaves xDSL as it was, for plugins and other users of it."""

import subprocess
import sys

SCRIPT = '''
import importlib, importlib.util, os, pkgutil, sys
import xdsl

def owners():
    """Every loaded module of xDSL and every class in one, with all that it has."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name == "xdsl" or name.startswith("xdsl."):
            found[name] = module
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__.startswith("xdsl."):
                    found[f"{value.__module__}.{value.__qualname__}"] = value
    return {name: (owner, dict(vars(owner))) for name, owner in found.items()}

def load(package, optional):
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=print):
        try:
            importlib.import_module(info.name)
        except Exception as error:
            if not optional(info.name):
                raise
            print("left out:", info.name, error)

TORCH = ("neuronir.torch", "neuronir.frontends.torch")
without_torch = importlib.util.find_spec("torch") is None

def optional(name):
    return without_torch and name.startswith(TORCH)

def modules(package):
    """The name of each Python file of a package; the links to the floors are followed."""
    (root,) = package.__path__
    for folder, _, files in os.walk(root, followlinks=True):
        parts = [package.__name__, *os.path.relpath(folder, root).split(os.sep)]
        for file in files:
            if file.endswith(".py"):
                yield ".".join([p for p in [*parts, file[:-3]] if p not in (".", "__init__")])

load(xdsl, lambda name: True)
before = owners()
import neuronir
load(neuronir, optional)
{also}
changed = []
for name, (owner, attributes) in before.items():
    now = dict(vars(owner))
    for key in attributes.keys() | now.keys():
        if key.startswith(("_abc_", "__abstractmethods__")) or key == "__parameters__":
            continue
        if f"{name}.{key}" in sys.modules:  # a submodule that was loaded later
            continue
        if attributes.get(key) is not now.get(key):
            changed.append(f"{name}.{key}")
assert len(before) > 500, len(before)
assert not [m for m in modules(neuronir) if m not in sys.modules and not optional(m)]
print("changed:", *changed)
sys.exit(bool(changed))
'''
COMPILE = '''
from xdsl.context import Context
from neuronir.driver import CompileOptions, compile_file
import tempfile, pathlib
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "sum.hlo"
    path.write_text("""HloModule sum

ENTRY main {
  a = f32[128,64]{1,0} parameter(0)
  b = f32[128,64]{1,0} parameter(1)
  ROOT c = f32[128,64]{1,0} add(a, b)
}
""")
    compile_file(str(path), "trn1", CompileOptions())
'''


def test_nothing_of_xdsl_is_changed() -> None:
    """Neither by importing every module nor by a compile."""
    script = SCRIPT.replace("{also}", COMPILE)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
