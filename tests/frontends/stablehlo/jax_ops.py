"""Operations of JAX by family, for random functions.

Each takes a random generator, which only shapes and types may influence, and arrays; it returns
arrays. `steps` are operations that jump: an error of rounding in their operand could make a large
one in their result, so they are applied to exact values only.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = Any
Rng = random.Random


@dataclass(frozen=True)
class Operation:
    """A function of `count` arrays of one of `kinds`: b(ool), i(nt), u(int), f(loat), c(omplex)."""

    name: str
    apply: Callable[..., Any]
    kinds: str
    count: int = 1
    steps: bool = False
    least_rank: int = 0


OPERATIONS: list[Operation] = []


Function = Callable[..., Any]


def operation(
    kinds: str, count: int = 1, *, steps: bool = False, rank: int = 0
) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        name = function.__name__.lstrip("_")
        OPERATIONS.append(Operation(name, function, kinds, count, steps, rank))
        return function

    return register


def _add(name: str, function: Callable[..., Any], kinds: str, count: int = 1, **more: Any) -> None:
    OPERATIONS.append(
        Operation(name, lambda rng, *xs: function(*xs), kinds, count, more.get("steps", False))
    )


def positive(x: Array) -> Array:
    return jnp.abs(x) + np.array(0.5, x.dtype)


def inside(x: Array) -> Array:
    """Values in (-0.9, 0.9)."""
    return jnp.sin(x) * np.array(0.9, x.dtype)


# --- elementwise

for _f in (lax.exp, lax.tanh, lax.logistic, lax.sin, lax.cos, lax.neg, lax.abs, lax.cbrt):
    _add(_f.__name__, _f, "f")
for _f in (lax.exp2, lax.expm1, lax.sinh, lax.cosh, lax.asinh, lax.erf, lax.erfc, lax.square):
    _add(_f.__name__, _f, "f")
for _f in (lax.atan, lax.bessel_i1e, lax.is_finite):
    _add(_f.__name__, _f, "f")
for _name, _f in {
    "log": lax.log,
    "log1p": lax.log1p,
    "sqrt": lax.sqrt,
    "rsqrt": lax.rsqrt,
    "lgamma": lax.lgamma,
    "digamma": lax.digamma,
    "acosh": lambda x: lax.acosh(x + np.array(1, x.dtype)),
    "zeta": lambda x: lax.zeta(x + np.array(1.5, x.dtype), x),
}.items():
    _add(_name, lambda x, f=_f: f(positive(x)), "f")
for _f in (lax.asin, lax.acos, lax.atanh, lax.erf_inv, lax.tan):
    _add(_f.__name__, lambda x, f=_f: f(inside(x)), "f")
for _f in (lax.floor, lax.ceil, lax.sign, lax.round):
    _add(_f.__name__, _f, "f", steps=True)
_add("round_even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), "f", steps=True)
_add("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), "f", steps=True)
for _f in (lax.population_count, lax.clz, lax.bitwise_not):
    _add(_f.__name__, _f, "iu")
_add("mulhi", lax.mulhi, "iu", 2)
_add("logical_not", jnp.logical_not, "b")
for _f in (lax.add, lax.sub, lax.mul, lax.max, lax.min):
    _add(_f.__name__, _f, "iufc" if _f not in (lax.max, lax.min) else "iuf", 2)
_add("div", lambda x, y: lax.div(x, positive(y)), "f", 2)
_add("div_int", lambda x, y: lax.div(x, jnp.where(y == 0, np.array(3, y.dtype), y)), "iu", 2)
_add("rem", lambda x, y: lax.rem(x, jnp.where(y == 0, np.array(3, y.dtype), y)), "iu", 2)
_add("pow", lambda x, y: lax.pow(positive(x), y), "f", 2)
_add("polygamma", lambda x: lax.polygamma(jnp.ones_like(x), positive(x)), "f")
_add("integer_pow", lambda x: lax.integer_pow(x, 3), "fiu")
_add("atan2", lax.atan2, "f", 2)
_add("nextafter", lax.nextafter, "f", 2, steps=True)
for _f in (lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor):
    _add(_f.__name__, _f, "iub", 2)
for _f in (lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic):
    _add(_f.__name__, lambda x, y, f=_f: f(x, y & np.array(7, y.dtype)), "iu", 2)
for _f in (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge):
    _add(_f.__name__, _f, "iuf", 2, steps=True)
_add("select", lambda x, y: jnp.where(x > y, x, y + y), "iuf", 2, steps=True)
_add("clamp", lambda x: lax.clamp(np.array(1, x.dtype), x, np.array(3, x.dtype)), "iuf")
_add("complex", lambda x: lax.complex(*(x.astype(np.float32),) * 2), "f")
_add("parts", lambda x: (lax.real(x), lax.imag(x), lax.conj(x)), "c")
_add("complex_abs", lax.abs, "c")


@operation("iufb", steps=True)
def _convert(rng: Rng, x: Array) -> Array:
    names = ("int8", "uint8", "int32", "float16", "bfloat16", "float32", "float64", "bool")
    kind = np.dtype(x.dtype).kind
    signed = "fi" if kind == "f" or x.dtype == jnp.bfloat16 else "fiub"
    found = [n for n in names if np.dtype(n if n != "bfloat16" else "float32").kind in signed]
    return x.astype(rng.choice(found))


@operation("iuf", steps=True)
def _bitcast(rng: Rng, x: Array) -> Array:
    return lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}") & 255


# --- shapes


@operation("iufbc")
def _reshape(rng: Rng, x: Array) -> Array:
    return x.reshape(rng.choice(([-1], [1, -1], [-1, 1])))


@operation("iufbc", rank=1)
def _transpose(rng: Rng, x: Array) -> Array:
    return jnp.transpose(x, rng.sample(range(x.ndim), x.ndim))


@operation("iufbc")
def _broadcast(rng: Rng, x: Array) -> Array:
    return jnp.broadcast_to(x, (2, *x.shape)) if x.ndim < 4 else x


@operation("iufbc", rank=1)
def _expand(rng: Rng, x: Array) -> Array:
    """Broadcast a dimension of size 1."""
    shape = list(x.shape)
    shape[rng.randrange(x.ndim)] = 1
    return jnp.broadcast_to(x[tuple(slice(0, n) for n in shape)], x.shape)


@operation("iufbc", rank=1)
def _slice(rng: Rng, x: Array) -> Array:
    ranges = [(rng.randrange((n + 1) // 2), n, rng.choice((1, 2))) for n in x.shape]
    return lax.slice(x, *(list(part) for part in zip(*ranges, strict=True)))


@operation("iufbc", rank=1)
def _pad(rng: Rng, x: Array) -> Array:
    config = [(rng.choice((-1, 0, 2)) if n > 1 else 1, rng.randrange(2), 1) for n in x.shape]
    return lax.pad(x, np.array(1, x.dtype), config)


@operation("iufbc", rank=1)
def _concatenate(rng: Rng, x: Array) -> Array:
    return jnp.concatenate([x, x, x], axis=rng.randrange(x.ndim)) if x.size < 500 else x


@operation("iufbc", rank=1)
def _reverse(rng: Rng, x: Array) -> Array:
    return lax.rev(x, rng.sample(range(x.ndim), rng.randint(1, x.ndim)))


@operation("iufbc", rank=1)
def _dynamic(rng: Rng, x: Array) -> Array:
    starts = [rng.randrange(-1, n + 1) for n in x.shape]
    part = lax.dynamic_slice(x, starts, [max(1, n // 2) for n in x.shape])
    return lax.dynamic_update_slice(x, part, starts[::-1])


@operation("iufb", rank=1)
def _gather(rng: Rng, x: Array) -> Array:
    index = np.array([[rng.randrange(-x.shape[0], x.shape[0]) for _ in range(3)]] * 2)
    return x[index]


@operation("iuf", rank=1)
def _scatter(rng: Rng, x: Array) -> Array:
    index = np.array([rng.randrange(x.shape[0]) for _ in range(4)])
    return getattr(x.at[index], rng.choice(("add", "max", "min", "multiply")))(x[0])


@operation("iuf", rank=1)
def _take_along(rng: Rng, x: Array) -> Array:
    index = lax.broadcasted_iota(np.int32, x.shape, 0) % max(1, x.shape[0] - 1)
    return jnp.take_along_axis(x, index, axis=0)


@operation("iu")
def _iota(rng: Rng, x: Array) -> Array:
    return x + jnp.arange(x.size, dtype=x.dtype).reshape(x.shape)


# --- reductions


@operation("iufc", rank=1)
def _sum(rng: Rng, x: Array) -> Array:
    axes = rng.sample(range(x.ndim), rng.randint(1, x.ndim))
    return jnp.sum(x, tuple(axes)) / np.array(x.size if x.dtype.kind not in "iu" else 1)


@operation("iuf", rank=1)
def _reduce(rng: Rng, x: Array) -> Array:
    return rng.choice((jnp.max, jnp.min, jnp.prod))(x, axis=rng.randrange(x.ndim))


@operation("iufb", rank=1)
def _any(rng: Rng, x: Array) -> Array:
    return rng.choice((jnp.any, jnp.all))(x != 0, axis=rng.randrange(x.ndim))


@operation("iuf", rank=1, steps=True)
def _arg(rng: Rng, x: Array) -> Array:
    return rng.choice((jnp.argmax, jnp.argmin))(x, axis=rng.randrange(x.ndim))


@operation("f", rank=1)
def _variadic(rng: Rng, x: Array) -> Any:
    zero, one = np.array(0, x.dtype), np.array(1, x.dtype)
    return lax.reduce(
        (x, x), (zero, one), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (x.ndim - 1,)
    )


@operation("iuf", rank=1)
def _window(rng: Rng, x: Array) -> Array:
    ones = (1,) * (x.ndim - 1)
    init, combine = rng.choice(((0, lax.add), (0, lax.max)))
    return lax.reduce_window(
        x, np.array(init, x.dtype), combine, (*ones, 2), (*ones, rng.choice((1, 2))), "SAME"
    )


@operation("iuf", rank=1)
def _cumulate(rng: Rng, x: Array) -> Array:
    return rng.choice((lax.cumsum, lax.cummax))(x, axis=rng.randrange(x.ndim))


@operation("f", rank=1)
def _pool_gradient(rng: Rng, x: Array) -> Array:
    def pooled(v: Array) -> Array:
        ones = (1,) * (v.ndim - 1)
        least = np.array(-np.inf, v.dtype)
        return lax.reduce_window(v, least, lax.max, (*ones, 2), (*ones, 2), "VALID").sum()

    return jax.grad(pooled)(x) if x.shape[-1] > 1 and x.dtype != jnp.bfloat16 else x


@operation("iuf", rank=1, steps=True)
def _sort(rng: Rng, x: Array) -> Any:
    index = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    return lax.sort((x, index), dimension=x.ndim - 1, num_keys=rng.choice((1, 2)))


@operation("f", rank=1, steps=True)
def _top_k(rng: Rng, x: Array) -> Any:
    return lax.top_k(x, min(2, x.shape[-1]))


# --- products


@operation("fiuc", rank=1)
def _dot(rng: Rng, x: Array) -> Array:
    y = x.reshape(-1, x.shape[-1])
    return jnp.matmul(y, y.T) if y.shape[0] < 50 else y


@operation("f", rank=2)
def _batched_dot(rng: Rng, x: Array) -> Array:
    dims = (((x.ndim - 1,), (x.ndim - 1,)), ((0,), (0,)))
    precision = rng.choice((lax.Precision.DEFAULT, lax.Precision.HIGHEST))
    y = x.reshape(x.shape[0], -1, x.shape[-1])
    return lax.dot_general(y, y, (((2,), (2,)), dims[1]), precision=precision)


@operation("f", rank=1)
def _convolution(rng: Rng, x: Array) -> Array:
    image = x.reshape(1, 1, -1, x.shape[-1])
    kernel = jnp.ones((2, 1, 2, 3), x.dtype).at[0, 0, 1, 2].set(-1)
    return lax.conv_general_dilated(
        image,
        kernel,
        window_strides=(1, rng.choice((1, 2))),
        padding=[(1, 0), (1, 1)],
        rhs_dilation=(rng.choice((1, 2)), 1),
        dimension_numbers=("NCHW", "OIHW", "NHWC"),
    )


@operation("f")
def _factors(rng: Rng, x: Array) -> Array:
    y = x.astype(np.float64).reshape(-1)[:4]
    matrix = jnp.outer(y, y) + 8 * jnp.eye(y.size)
    factor = lax.linalg.cholesky(matrix)
    return lax.linalg.triangular_solve(factor, matrix, left_side=True, lower=True)


@operation("f")
def _fourier(rng: Rng, x: Array) -> Any:
    y = x.astype(np.float32).reshape(-1)
    spectrum = jnp.fft.rfft(y)
    return jnp.fft.ifft(y), jnp.fft.irfft(spectrum, y.size)


# --- control flow


@operation("iuf", 2, steps=True)
def _branch(rng: Rng, x: Array, y: Array) -> Array:
    return lax.cond(x.sum() > y.sum(), lambda v: v + y, lambda v: v * v, x)


@operation("iuf", 2)
def _switch(rng: Rng, x: Array, y: Array) -> Any:
    index = jnp.int32(rng.randrange(-1, 4))
    return lax.switch(index, [lambda: (x, y), lambda: (y, x + x), lambda: (x + y, y)])


@operation("iuf", 2)
def _loop(rng: Rng, x: Array, y: Array) -> Any:
    return lax.fori_loop(0, rng.randrange(4), lambda i, v: (v[1], v[0] + y), (x, y))


@operation("iuf", rank=1)
def _scan(rng: Rng, x: Array) -> Any:
    return lax.scan(lambda c, v: (c + v, c), jnp.zeros_like(x[0]), x)


@operation("iuf", 2)
def _call(rng: Rng, x: Array, y: Array) -> Any:
    inner = jax.jit(lambda a, b: (a + b, a))
    return inner(*inner(x, y))


@operation("iuf")
def _barrier(rng: Rng, x: Array) -> Any:
    return lax.optimization_barrier((x, x + x))


@operation("iuf", rank=1)
def _mapped(rng: Rng, x: Array) -> Array:
    return jax.vmap(lambda v: v + v.sum(keepdims=True) // np.array(2, x.dtype))(x)


@operation("f")
def _random_bits(rng: Rng, x: Array) -> Array:
    key = jax.random.key(rng.randrange(1000))
    return x + jax.random.uniform(key, x.shape, np.float32).astype(x.dtype)
