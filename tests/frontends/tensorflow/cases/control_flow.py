"""Loops, branches, calls and lists, as TensorFlow 1 and 2 write them."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import Cases

CASES = Cases("control_flow")
c, raw = CASES, tf.raw_ops


def both(name: str, build: Any, *arrays: Any) -> None:
    """The case with frames (Enter, Switch ...) and with functions (While, If)."""
    c.add(f"{name}_frames", build, *arrays, loops=True)
    c.add(f"{name}_functions", build, *arrays)


def counted(x: Any) -> Any:
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v * 1.5)), (0, x))[1]


def nested(x: Any) -> Any:
    def inner(v: Any) -> Any:
        return tf.while_loop(lambda j, w: j < 3, lambda j, w: (j + 1, w + 0.5), (0, v))[1]

    return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, inner(v) * 0.7), (0, x))[1]


def captured(x: Any, w: Any) -> Any:
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.matmul(v, w) * 0.3), (0, x))[1]


def descending(x: Any) -> Any:
    return tf.while_loop(
        lambda i, v: i > 0, lambda i, v: (i - 2, v + tf.cast(i, tf.float32)), (7, x)
    )[1]


def swapped(x: Any, y: Any) -> Any:
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a + b), (0, x, y))[1:]


def branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x), lambda: x * 3.0)


def branch_nested(x: Any) -> Any:
    def low() -> Any:
        return tf.cond(x[0] > 0, lambda: x + 1.0, lambda: x - 1.0)

    return tf.cond(tf.reduce_sum(x) > 0, low, lambda: x * 3.0)


def branch_several(x: Any) -> Any:
    return tf.cond(x[0] > x[1], lambda: (x, x * 2.0), lambda: (x * 3.0, x - 1.0))


def branch_known(x: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: x * 2.0, lambda: x * 3.0)


def branch_constants(x: Any) -> Any:
    return x + tf.cond(x[0] > 0, lambda: tf.constant(1.0), lambda: tf.constant(-1.0))


def branch_in_loop(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(v[0] > 0, lambda: v - 1.0, lambda: v + 0.7)

    return tf.while_loop(lambda i, v: i < 4, body, (0, x))[1]


def loop_in_branch(x: Any) -> Any:
    return tf.cond(x[0] > 0, lambda: counted(x), lambda: x)


def branch_by_step(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * 2.0, lambda: v - 1.0)

    return tf.while_loop(lambda i, v: i < 4, body, (0, x))[1]


def array_written(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 4)
    return tf.while_loop(
        lambda i, v, a: i < 4, lambda i, v, a: (i + 1, v * 0.5, a.write(i, v)), (0, x, array)
    )[2].stack()


def array_read(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 5).unstack(x)
    return tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s * 0.9 + array.read(i)), (0, tf.zeros([3]))
    )[1]


def scan(x: Any) -> Any:
    return tf.scan(lambda s, v: s * 0.5 + v, x)


def map_rows(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.cumsum(row) * 2.0, x)


def recurrent(x: Any, w: Any, u: Any) -> Any:
    """A simple recurrent network over time, with a list of outputs."""
    outputs = tf.TensorArray(tf.float32, 6)

    def body(t: Any, h: Any, out: Any) -> Any:
        h = tf.tanh(tf.matmul(x[:, t], w) + tf.matmul(h, u))
        return t + 1, h, out.write(t, h)

    start = (0, tf.zeros([2, 4]), outputs)
    return tf.transpose(tf.while_loop(lambda t, h, o: t < 6, body, start)[2].stack(), [1, 0, 2])


v = c.f32(5)
both("counted", counted, c.f32(3, 4))
both("nested", nested, c.f32(3))
both("captured", captured, c.f32(3, 4), c.f32(4, 4))
both("descending", descending, c.f32(3))
both("swapped", swapped, c.f32(3), c.f32(3))
for _sign in (1, -1):
    for _build in (branch, branch_nested, branch_several, branch_constants, loop_in_branch):
        both(f"{_build.__name__}_{_sign}", _build, np.abs(v) * _sign)
both("branch_known", branch_known, v)
both("branch_in_loop", branch_in_loop, v)
both("branch_by_step", branch_by_step, v)
both("array_written", array_written, c.f32(3))
both("array_read", array_read, c.f32(5, 3))
both("scan", scan, c.f32(5, 3))
both("map_rows", map_rows, c.f32(4, 3))
both("recurrent", recurrent, c.f32(2, 6, 3), c.f32(3, 4), c.f32(4, 4))
c.add(
    "case",
    lambda x, i: tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x - 1.0]),
    c.f32(3),
    np.array(1, np.int32),
)
c.add(
    "case_last",
    lambda x, i: tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x - 1.0]),
    c.f32(3),
    np.array(9, np.int32),
)


squared_sum = tf.function(lambda x, y: (x * x + y, x - y))


c.add("call", lambda x, y: squared_sum(x, squared_sum(x, y)[1]), c.f32(3), c.f32(3))
c.add(
    "list_stack",
    lambda x, y: raw.TensorListStack(
        input_handle=raw.TensorListSetItem(
            input_handle=raw.TensorListFromTensor(tensor=x, element_shape=[3]), index=1, item=y
        ),
        element_shape=[3],
        element_dtype=tf.float32,
    ),
    c.f32(4, 3),
    c.f32(3),
)
c.add(
    "list_push",
    lambda x, y: raw.TensorListStack(
        input_handle=raw.TensorListPushBack(
            input_handle=raw.TensorListPushBack(
                input_handle=raw.EmptyTensorList(
                    element_shape=[3], max_num_elements=-1, element_dtype=tf.float32
                ),
                tensor=x,
            ),
            tensor=y,
        ),
        element_shape=[3],
        element_dtype=tf.float32,
    ),
    c.f32(3),
    c.f32(3),
)
c.add(
    "list_pop",
    lambda x: raw.TensorListPopBack(
        input_handle=raw.TensorListFromTensor(tensor=x, element_shape=[3]),
        element_shape=[3],
        element_dtype=tf.float32,
    )[1],
    c.f32(4, 3),
)
c.add(
    "list_gather",
    lambda x, i: raw.TensorListGather(
        input_handle=raw.TensorListFromTensor(tensor=x, element_shape=[3]),
        indices=i,
        element_shape=[3],
        element_dtype=tf.float32,
    ),
    c.f32(4, 3),
    c.ints(0, 4, 2),
)
c.add(
    "list_scatter",
    lambda x: raw.TensorListStack(
        input_handle=raw.TensorListScatterV2(
            tensor=x, indices=[2, 0], element_shape=[3], num_elements=3
        ),
        element_shape=[3],
        element_dtype=tf.float32,
    ),
    c.f32(2, 3),
)
c.add(
    "list_concat",
    lambda x: raw.TensorListConcatV2(
        input_handle=raw.TensorListFromTensor(tensor=x, element_shape=[2, 3]),
        element_shape=[2, 3],
        leading_dims=tf.constant([], tf.int64),
        element_dtype=tf.float32,
    )[0],
    c.f32(4, 2, 3),
)
c.add(
    "list_length",
    lambda x: raw.TensorListLength(
        input_handle=raw.TensorListFromTensor(tensor=x, element_shape=[3])
    ),
    c.f32(4, 3),
)
