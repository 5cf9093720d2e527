"""Define what the definitions of nc ops say about buffers: a memref in one of some memories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint
from xdsl.irdl.constraints import IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import SpaceAttr

if TYPE_CHECKING:
    from typing_extensions import TypeVar


@dataclass(frozen=True)
class BufferIn(AttrConstraint[MemRefType[Attribute]]):
    """Constrain a type to memrefs in one of some memories ("sbuf", "psum", "hbm")."""

    memories: tuple[str, ...]

    class_in_plans = MemRefType
    """The class that the fast verifier checks; the verifiers of the ops check the memory."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Check a type; raises VerifyException."""
        space = attr.memory_space if isinstance(attr, MemRefType) else None
        if not isinstance(space, SpaceAttr) or space.space.data not in self.memories:
            raise VerifyException(f"must be a memref in {' or '.join(self.memories)}, is {attr}")

    def get_bases(self) -> set[type[Attribute]]:
        """Return the class of all types that the constraint allows."""
        return {MemRefType}

    def mapping_type_vars(
        self, type_var_mapping: "Mapping[TypeVar, AttrConstraint | IntConstraint]"
    ) -> "BufferIn":
        """Return the constraint itself: it has no variables."""
        return self


ON_CHIP = BufferIn(("sbuf", "psum"))
IN_HBM = BufferIn(("hbm",))
ANYWHERE = BufferIn(("sbuf", "psum", "hbm"))
