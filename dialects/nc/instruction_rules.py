"""Check rules that hold on any machine: each instruction has a single, well-defined result.

The loader and the race checker reject instructions that break these rules. `machine_rules.py` has
the limits of a machine.
"""

from collections.abc import Iterator

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import feasible, writes
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    COUNTER,
    REGISTER,
    TRANSFER_PARTS,
    AccessPattern,
    Instruction,
)
from neuronir.dialects.nc.opcodes import OPCODES

LARGEST_UPDATE = 1 << 16
"""An instruction adds at most this much to a semaphore."""
LARGEST_PATTERN = 1 << 42
"""Bytes of an access pattern, repeats counted."""
TRANSFERS = frozenset({"dma", "dma_gather", "dma_scatter"})
"""Instructions that the DMA engines execute in parts, in any order."""
_TABLES = frozenset({"dma_gather", "dma_scatter"})


def faults(i: Instruction) -> Iterator[str]:
    """Return what is wrong with instruction `i` on any machine, one sentence for each rule.

    Its opcode and operands must match the opcode table.
    """
    for param in OPCODES[i.opcode].params:
        if param.default is None and param.name not in i.params:
            yield f"lacks its parameter '{param.name}'"
            return
    yield from _signals(i)
    bad = False
    for role, ap in _operands(i):
        for text in _pattern(ap):
            bad = True
            yield f"operand '{role}' {text}"
    if i.opcode == "register_load":
        yield from _register(i)
    if bad:
        return
    if i.opcode in _TABLES:
        table = list(_table(i))
        yield from table
        if table:
            return
    # Rows of a table are written one after the other, each in no defined order.
    for target in i.dst if i.opcode in _TABLES else writes(i):
        if target is not None and overlaps_itself(target):
            yield "operand 'dst' has overlapping elements, which are written in no defined order"


def _operands(i: Instruction) -> Iterator[tuple[str, AccessPattern]]:
    spec = OPCODES[i.opcode]
    for role, ap in zip((*spec.dst, *spec.src), (*i.dst, *i.src), strict=True):
        if ap is not None:
            yield role.rstrip("?"), ap


def _signals(i: Instruction) -> Iterator[str]:
    """Check that semaphores only increase, by amounts that their waits can rely on."""
    for update in i.updates:
        if not 1 <= update.amount <= LARGEST_UPDATE:
            yield (
                f"it adds {update.amount} to semaphore {update.semaphore}; 1 to {LARGEST_UPDATE} "
                "is possible"
            )
        elif i.opcode in TRANSFERS and update.amount % TRANSFER_PARTS:
            yield (
                f"a transfer adds to a semaphore in {TRANSFER_PARTS} equal parts; "
                f"{update.amount} is not a multiple of that"
            )
    if len({update.semaphore for update in i.updates}) < len(i.updates):
        yield "it adds to one semaphore twice, so a wait for one of the two is ambiguous"
    if any(REGISTER <= symbol < COUNTER for wait in i.waits for symbol, _ in wait.value.terms):
        yield "it waits for a value in a register, which depends on data"


def _pattern(ap: AccessPattern) -> Iterator[str]:
    size = ap.dtype.size
    if ap.partitions < 1 or any(n < 1 for _, n in ap.free):
        yield "has an empty access pattern"
    elif ap.bytes > LARGEST_PATTERN:
        yield f"has an access pattern of {ap.bytes} bytes; the limit is {LARGEST_PATTERN}"
    if any(symbol >= COUNTER for symbol, _ in ap.address.terms):
        yield "has an address that depends on a counter of iterations, which only waits may"
    # Base addresses that are arguments of a function are in bytes: the race checker has their
    # value.
    bases = [symbol for symbol, _ in ap.address.terms if ARGUMENT <= symbol < REGISTER]
    steps = [c for symbol, c in ap.address.terms if symbol not in bases]
    if not bases:
        steps.append(ap.address.const)
    if ap.space == Space.HBM and ap.partitions > 1:
        steps.append(ap.partition_stride)
    if any(step % size for step in steps):
        yield f"is not aligned to the {size} bytes of its elements"


def _register(i: Instruction) -> Iterator[str]:
    low, high = int(i.params["low"]), int(i.params["high"])
    if low > high:
        yield f"the bounds of a register are empty: {low} to {high}"
    if int(i.params.get("register", 0)) < 0:
        yield f"there is no register {int(i.params['register'])}"


def _table(i: Instruction) -> Iterator[str]:
    rows, stride = int(i.params["rows"]), int(i.params["row_stride"])
    row = i.src[0] if i.opcode == "dma_gather" else i.dst[0]
    if rows < 1:
        yield f"a table of {rows} rows"
    if row is not None and stride % row.dtype.size:
        yield f"rows that are {stride} bytes apart are not aligned to their elements"


def overlaps_itself(ap: AccessPattern) -> bool:
    """Return whether two elements of a pattern share a byte. Exact."""
    size = ap.dtype.size
    dims = [(abs(stride) * size, n) for stride, n in ap.free if n > 1]
    if ap.space == Space.HBM and ap.partitions > 1:
        dims.append((abs(ap.partition_stride), ap.partitions))
    dims.sort()
    reach = size
    for stride, n in dims:
        if stride < reach:
            break
        reach += stride * (n - 1)
    else:
        return False
    # If two positions share a byte, the first dimension in which they differ is the k-th.
    return any(
        feasible(
            [(stride, 1, n - 1), *((s, 1 - m, m - 1) for s, m in dims[k + 1 :])], 1 - size, size - 1
        )
        for k, (stride, n) in enumerate(dims)
    )
