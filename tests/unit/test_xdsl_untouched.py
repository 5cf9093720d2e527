"""Importing NeuronIR leaves the classes of xDSL as they were, for plugins and other users of it."""

import subprocess
import sys

SCRIPT = '''
import importlib, pkgutil, sys
import xdsl

def classes():
    """Every class of a loaded module of xDSL, with all that it has."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name == "xdsl" or name.startswith("xdsl."):
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__.startswith("xdsl."):
                    found[f"{value.__module__}.{value.__qualname__}"] = value
    return {name: (c, dict(vars(c))) for name, c in found.items()}

OPTIONAL = ("neuronir.torch", "neuronir.jax", "neuronir.frontends")  # some need extras

def load(package, also):
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=print):
        try:
            importlib.import_module(info.name)
        except Exception as error:
            if not also(info.name):
                raise
            print("left out:", info.name, error)

load(xdsl, lambda name: True)
before = classes()
import neuronir
load(neuronir, lambda name: name.startswith(OPTIONAL))
{also}
changed = []
for name, (class_, attributes) in before.items():
    now = dict(vars(class_))
    for key in attributes.keys() | now.keys():
        if key.startswith(("_abc_", "__abstractmethods__")) or key == "__parameters__":
            continue
        if attributes.get(key) is not now.get(key):
            changed.append(f"{name}.{key}")
assert len(before) > 500, len(before)
assert sum(name.startswith("neuronir.") for name in sys.modules) > 400
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


def test_no_class_of_xdsl_is_changed() -> None:
    """Neither by importing every module nor by a compile."""
    script = SCRIPT.replace("{also}", COMPILE)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
