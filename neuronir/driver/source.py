"""Read the input of a compile: a model or a module, with bound weights and its origin."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr, f32

from neuronir._xdsl_verify import Verified
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.dialects.support.walking import walk
from neuronir.driver.digest import digest_of, digest_of_weights
from neuronir.driver.dumper import Dumper, DumpOptions
from neuronir.driver.module_input import Chunk, parse
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import PassRunner, verify
from neuronir.driver.phases import PHASES
from neuronir.driver.precision import CAST_TYPES, multiplies_fp32
from neuronir.driver.timer import Timer
from neuronir.driver.weights import bind_weights, entry_function
from neuronir.frontends.models import named_values
from neuronir.passes.hlo.support.values import element, is_tensor
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.registry import TargetLike

PHASE_ATTRIBUTE = "neuronir.phase"
MACHINE_ATTRIBUTE = "nc.machine"


def stamp(module: ModuleOp, digest: str, weights: Mapping[str, Array] | None = None) -> None:
    """Record in a module what it was made from: the digest of the model, and bound weights."""
    module.attributes["neuronir.input"] = StringAttr(digest)
    count = len(entry_function(module).body.block.args)
    module.attributes["neuronir.arguments"] = StringAttr(str(count))
    if weights:
        module.attributes["neuronir.weights"] = StringAttr(digest_of_weights(weights))


class Source:
    """The input of a compile: the given module, or else the chunk's contents."""

    def __init__(
        self,
        chunk: Chunk,
        target: TargetLike,
        options: CompileOptions,
        registry: Registry,
        module: ModuleOp | None = None,
    ) -> None:
        self.chunk = chunk
        self.target = target
        self.options = options
        self.registry = registry
        self.given = module

    def read(self, timer: Timer | None = None, verified: Verified | None = None) -> ModuleOp:
        """Return the input with bound weights, marked with its phase and machine."""
        phase = self.options.compile_from
        if self.given is not None:
            module = self.given.clone()
        else:
            module = parse(self.chunk, self.registry.context())
        self.check_phase(module, phase)
        weights = self._to_bind()
        if weights:
            if phase != PHASES[0]:
                raise NeuronError(
                    "NIR_DRV006",
                    f"--weights cannot be bound in phase '{phase}', only when the model is read",
                )
            bind_weights(module, weights)
        # A dump of this phase already records its origin.
        if phase == PHASES[0] and "neuronir.input" not in module.attributes:
            self.origin(module)
        with (timer or Timer()).step("(verify)"):
            verify(module, verified)
        if phase in ("parsed", "hlo", "tiled"):
            entry_function(module)  # both lowering paths need it
        else:
            self.check_program(module)
        return module

    def _to_bind(self) -> Mapping[str, Array]:
        """Return the weights that the module still lacks: importers of models whose shapes can be
        bound have bound them.
        """
        if self.chunk.model is None:
            return self.options.weights
        return self.chunk.bindings.values if self.chunk.kind == "torch" else {}

    @property
    def narrow(self) -> bool:
        """Whether 64-bit integers are computed in 32 bits."""
        given = self.options.narrow_integers
        return self.chunk.model is not None if given is None else given

    def check_phase(self, module: ModuleOp, phase: str) -> None:
        """Raise NIR_DRV007 if the IR is marked with another phase or machine."""
        for name, wanted in ((PHASE_ATTRIBUTE, phase), (MACHINE_ATTRIBUTE, self.target.name)):
            found = module.attributes.get(name)
            if isinstance(found, StringAttr) and found.data != wanted:
                raise NeuronError(
                    "NIR_DRV007",
                    f"the input has {name} = '{found.data}', not '{wanted}'",
                    location=self.chunk.name,
                    help="--compile-from and --target must match the file",
                )
        module.attributes[MACHINE_ATTRIBUTE] = StringAttr(self.target.name)

    def check_program(self, module: ModuleOp) -> None:
        """Raise NIR_NC010 if an nc program that was read exceeds the machine."""
        ctx = self.registry.context()
        runner = PassRunner(ctx, Dumper(DumpOptions(), ctx), Timer(), verify_each=False)
        checks = parse_pipeline("nc-verify-machine", self.registry.passes, self.registry.pipelines)
        runner.run(checks, module)

    def origin(self, module: ModuleOp) -> None:
        """Record in the module what it was made from, without paths or times."""
        model = self.chunk.model
        digest = digest_of([self.chunk.text.encode()]) if model is None else model.digest
        stamp(module, digest, self.options.weights)

    def tell_precision(self, module: ModuleOp) -> None:
        """Warn that dots are in bf16 although no casts were requested."""
        if self.options.auto_cast != "none" or multiplies_fp32(self.target.machine):
            return
        products = (op for op in walk(module) if op.name in ("hlo.dot", "hlo.convolution"))
        if any(is_tensor(v) and element(v) == f32 for op in products for v in op.operands):
            warning(
                f"--auto-cast none: the tensor engine of {self.target.name} does not support fp32; "
                "products are computed in bf16 and accumulated in fp32"
            )

    def check_precision(self) -> None:
        """Raise NIR_ARG002 if the tensor engine does not support the cast type."""
        o, machine = self.options, self.target.machine
        known = CAST_TYPES.get(o.auto_cast_type)  # others are an error of hlo-auto-cast
        if o.auto_cast != "none" and known is not None and known not in machine.matmul_dtypes:
            raise NeuronError(
                "NIR_ARG002",
                f"--auto-cast-type {o.auto_cast_type} is not supported by target '{machine.name}'",
                help="its tensor engine takes "
                + " and ".join(sorted(n.lower() for n in machine.matmul_dtypes)),
            )


def with_bindings(chunk: Chunk, options: CompileOptions) -> Chunk:
    """Return the input with bound options; weights of a model are values of its inputs."""
    if chunk.model is None:
        return replace(chunk, bindings=options.bindings)
    values = named_values(chunk.model, dict(options.weights), options.bindings)
    bindings = replace(options.bindings, values={**options.bindings.values, **values})
    return replace(chunk, bindings=bindings)
