"""Write the expansions of CHLO functions that hlo has no op for, as XLA defines them.

    python tools/chlo_functions.py neuronir/frontends/stablehlo/functions

JAX exports each function for scalars, which expands it; the importer of StableHLO reads these files
and applies them to tensors. Needs the packages `jax` and `jaxlib`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax import export, lax

jax.config.update("jax_enable_x64", True)

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "bessel_i0e": (lax.bessel_i0e, 1),
    "bessel_i1e": (lax.bessel_i1e, 1),
    "digamma": (lax.digamma, 1),
    "erf_inv": (lax.erf_inv, 1),
    "erfc": (lax.erfc, 1),
    "lgamma": (lax.lgamma, 1),
    "mulhi": (lax.mulhi, 2),
    "next_after": (lax.nextafter, 2),
    "polygamma": (lax.polygamma, 2),
    "zeta": (lax.zeta, 2),
}
"""The functions, with their numbers of arguments. CHLO has no bessel_i0e, which JAX writes out."""
WIDE = ("f32", "f64")
"""Narrower types are widened to f32, as XLA does."""
TYPES = {
    "mulhi": ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"),
    "next_after": ("f16", "bf16", "f32", "f64"),
}
"""The element types of functions of bits, by their names in HLO."""
_FUNCTION = re.compile(r"^  func\.func (?:public|private) @([\w.]+)\((.*?)^  }\n", re.M | re.S)
_NAMES = {"s": "int", "u": "uint", "f": "float", "b": "bfloat"}


def expansion(name: str, dtype: str) -> str:
    """Return the function of an expansion, as text."""
    function, count = FUNCTIONS[name]
    width = dtype.lstrip("bfsu")
    scalar = jax.ShapeDtypeStruct((), _NAMES[dtype[0]] + width)
    text = export.export(jax.jit(function))(*[scalar] * count).mlir_module()
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        plain = str(ir.Module.parse(text))  # without locations
    found = {m[1]: m[2] for m in _FUNCTION.finditer(plain)}
    body = found.get(f"chlo.{name}.impl", found["main"])
    body = re.sub(r" \{jax\.result_info = \"[^\"]*\"\}", "", body)
    body = re.sub(r"-> \(([^,()]*)\) \{", r"-> \1 {", body)
    return f"  func.func @{dtype}({body}  }}\n"


def main(folder: str) -> None:
    """Write a file for each function."""
    for name in FUNCTIONS:
        parts = [expansion(name, dtype) for dtype in TYPES.get(name, WIDE)]
        owner = "JAX's lax.bessel_i0e" if name == "bessel_i0e" else f"chlo.{name} in XLA"
        head = (
            f"// The expansion of {owner} (Apache-2.0), for scalars; "
            "written by tools/chlo_functions.py.\n"
        )
        path = Path(folder) / f"{name}.mlir"
        path.write_text(f"{head}module @{name} {{\n{''.join(parts)}}}\n")


if __name__ == "__main__":
    main(sys.argv[1])
