"""Random choices for programs, and the programs."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """A function of arrays, with the shapes and types of its arguments.

    `name` has no spaces, and names kind and sizes.
    """

    name: str
    function: Callable[..., Any]
    specs: tuple[Any, ...]

    def text(self) -> str:
        """Return the HLO text, as JAX prints it."""
        lowered = jax.jit(self.function).lower(*self.specs)
        text: str = lowered.compiler_ir("hlo").as_hlo_text()
        return text


class Draw:
    """Draws from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: T) -> T:
        """Return one of some values."""
        return self.random.choice(choices)

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """Return different values."""
        return self.random.sample(choices, count)

    def float_type(self) -> Any:
        """Return f32, or less often bf16."""
        return self.pick(jnp.float32, jnp.float32, jnp.bfloat16)


def array(*dims: int, dtype: Any = jnp.float32) -> Any:
    """Return the spec of an argument of floats."""
    return jax.ShapeDtypeStruct(dims, dtype)


def indices(*dims: int) -> Any:
    """Return the spec of an argument of s32 indices."""
    return jax.ShapeDtypeStruct(dims, jnp.int32)


def letter(dtype: Any) -> str:
    """Return the letter of a type in the name of a program."""
    return "b" if dtype == jnp.bfloat16 else "f"
