"""Define the kinds of elements that ops take, and constraints for tensors of them.

The definition of an op names what its operands are (`operand = operand_def(FLOAT_TENSOR)`). The
shape rule of the op checks the same kinds and words the message; a test compares the two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint
from xdsl.irdl.constraints import IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo.attributes import TokenType
from neuronir.dialects.support.dtypes import (
    is_complex,
    is_float,
    is_integer,
    is_pred,
    is_unsigned,
)

if TYPE_CHECKING:
    from typing_extensions import TypeVar


@dataclass(frozen=True)
class Kind:
    """A set of element types; `name` follows "element type must be" in messages."""

    name: str
    allows: Callable[[Attribute], bool]

    def check(self, element: Attribute) -> None:
        """Check an element type; raises VerifyException."""
        if not self.allows(element):
            raise VerifyException(f"element type must be {self.name}, is {element}")


ANY = Kind("any", lambda element: True)
FLOAT = Kind("float", is_float)
FLOAT_OR_COMPLEX = Kind("float or complex", lambda e: is_float(e) or is_complex(e))
SIGNED = Kind(
    "signed integer, float or complex",
    lambda e: is_float(e) or is_complex(e) or (is_integer(e) and not is_unsigned(e)),
)
INTEGER = Kind("integer", is_integer)
BITS = Kind("integer or pred", lambda e: is_integer(e) or is_pred(e))
NUMBER = Kind("a number", lambda e: not is_pred(e))
PRED = Kind("pred", is_pred)


@dataclass(frozen=True)
class TensorOf(AttrConstraint[TensorType[Attribute]]):
    """Constrain a type to tensors whose elements are of a kind."""

    kind: Kind

    class_in_plans = TensorType
    """The class that the fast verifier checks; the shape rule or `verify_` checks the elements."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Check a type; raises VerifyException."""
        if not isinstance(attr, TensorType):
            raise VerifyException(f"must be a tensor, is {attr}")
        self.kind.check(attr.element_type)

    def get_bases(self) -> set[type[Attribute]]:
        """Return the class of all types that the constraint allows."""
        return {TensorType}

    def mapping_type_vars(
        self, type_var_mapping: "Mapping[TypeVar, AttrConstraint | IntConstraint]"
    ) -> "TensorOf":
        """Return the constraint itself: it has no variables."""
        return self


@dataclass(frozen=True)
class TypeOf(AttrConstraint[Attribute]):
    """Constrain a type to a class; `name` follows "must be" in messages."""

    class_in_plans: type[Attribute]
    name: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Check a type; raises VerifyException."""
        if not isinstance(attr, self.class_in_plans):
            raise VerifyException(f"must be {self.name}, is {attr}")

    def get_bases(self) -> set[type[Attribute]]:
        """Return the class of all types that the constraint allows."""
        return {self.class_in_plans}

    def mapping_type_vars(
        self, type_var_mapping: "Mapping[TypeVar, AttrConstraint | IntConstraint]"
    ) -> "TypeOf":
        """Return the constraint itself: it has no variables."""
        return self


TENSOR = TensorOf(ANY)
FLOAT_TENSOR = TensorOf(FLOAT)
FLOAT_OR_COMPLEX_TENSOR = TensorOf(FLOAT_OR_COMPLEX)
INTEGER_TENSOR = TensorOf(INTEGER)
BITS_TENSOR = TensorOf(BITS)
NUMBER_TENSOR = TensorOf(NUMBER)
PRED_TENSOR = TensorOf(PRED)
TUPLE = TypeOf(TupleType, "a tuple")
TENSOR_OR_TUPLE = TENSOR | TUPLE
TOKEN = TypeOf(TokenType, "a token")
