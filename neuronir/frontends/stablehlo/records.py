"""The records of a StableHLO module, as in its text: names and types are not checked yet.

The pretty and the generic form of an op become the same record, with the attribute names of the
generic form.
"""

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.support.npz import Array

Location = Any
"""A location: an alias such as `#loc3`, a tuple of `locations.py`, or None if unknown."""


class Word(str):
    """A word of the text: an enumerator such as `DEFAULT`, or an attribute that is not read."""

    __slots__ = ()


class Symbol(str):
    """The name of a function."""

    __slots__ = ()


class Dictionary(dict[str, Any]):
    """A dictionary of attributes, with the text of each value."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}


@dataclass(frozen=True)
class FunctionType:
    """The types of arguments and results."""

    inputs: list[Attribute]
    outputs: list[Attribute]


@dataclass(frozen=True)
class ConvolutionNumbers:
    """The labels of the dimensions of input, kernel and output, such as `["b", "0", "f"]`."""

    lhs: list[str]
    rhs: list[str]
    out: list[str]


@dataclass
class Dense:
    """The elements of a constant: of the type's shape, or a single one for all (rank 0)."""

    array: Array
    type: TensorType[Attribute]


@dataclass(frozen=True)
class Resource:
    """A constant whose elements are stored at the end of the file."""

    key: str
    type: Attribute
    position: int


@dataclass
class Argument:
    """An argument of a function or region."""

    name: str
    type: Attribute
    position: int
    attributes: Dictionary
    location: Location = None


@dataclass
class Body:
    """A region of a single block."""

    arguments: list[Argument]
    statements: list["Statement"]
    position: int


@dataclass(slots=True)
class Statement:
    """An op. `results` has a name for each result; `types` are those of the results.

    `operand_types` is None if the text omits them.
    """

    name: str
    position: int
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    attributes: Dictionary = field(default_factory=Dictionary)
    bodies: list[Body] = field(default_factory=list)
    operand_types: list[Attribute] | None = None
    types: list[Attribute] = field(default_factory=list)
    location: Location = None


@dataclass
class Function:
    """A function of the module."""

    name: str
    is_public: bool
    body: Body
    results: list[Attribute]
    position: int
    location: Location = None


@dataclass
class Module:
    """The module of a file."""

    name: str
    attributes: Dictionary
    functions: dict[str, Function]
    aliases: dict[str, Location]
    resources: dict[str, tuple[int, int]]
    """Where the quoted elements of a resource start and end in the text."""
    meshes: dict[str, dict[str, int]] = field(default_factory=dict)
    """The axes of each mesh of devices, with their sizes."""
