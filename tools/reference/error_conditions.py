"""When errors arise that few inputs lead to."""

_DIRECT = (
    "A rule of the direct path (lower-hlo-to-nc) meets a layout that it has no instructions for. "
    "The compiler then tries the tiled path, so the code is printed only if that path is not used "
    "(`--tiling never`) or does not compile the program either."
)
_TILED = (
    "A rule of the tiled path (lower-tile-to-nc) meets a form that it has no instructions for. "
    "The compiler then keeps the program of the direct path, so the code is printed only if that "
    "path is not used (`--tiling always`) or does not compile the program either."
)

CONDITIONS: dict[str, str] = {
    "NIR_CACHE006": "The file system refuses to list, read or remove an entry, because the user "
    "lacks the permission or the connection to a remote cache is lost.",
    "NIR_DRV011": "`--tiling always`, or another option that needs phase `tiled`, is given for a "
    "target of another package that has no such phase. The targets of this package have it.",
    "NIR_DRV012": "The compiler compiles parts of a model in processes of their own "
    "(`neuronir.torch.trace` with partitions or buckets), and one of them ends without a result, "
    "for example because the system stops it when memory runs out.",
    "NIR_ENC001": "A pass or target of another package makes an instruction with an unknown opcode "
    "or a field that the encoding cannot hold. The verifier refuses such ops in nc modules.",
    "NIR_ENC003": "A target of another package puts an instruction into the stream of a wrong "
    "engine. The verifier refuses such ops in nc modules.",
    "NIR_ENC005": "A program from a pass or target of another package loads more registers than "
    "the sequencer of an engine has. In programs of the compiler, `nc-assign-engines` assigns the "
    "registers and reports [NIR_NC007](NIR_NC007.md).",
    "NIR_IMP005": "The value that a model binds to an input has another shape or type than the "
    "input declares, and the reader of the file has not refused it.",
    "NIR_IR": "The Python interface (`neuronir.compile`) reports errors of a pass or of the "
    "verifier that have no code of their own under this code.",
    "NIR_INTERNAL": "The Python interface (`neuronir.compile`) reports an unexpected exception in "
    "a pass, or IR that is invalid after a pass, under this code. The programs write a reproducer.",
    "NIR_LOW001": _DIRECT,
    "NIR_LOW002": _DIRECT,
    "NIR_LOW003": _DIRECT,
    "NIR_LOW004": _DIRECT,
    "NIR_NC008": "A machine description has fewer semaphores than engines, so that none is left "
    "for transfers. Those of the machines in this package have enough (trn1 256, inf1 32): if "
    "they run out, transfers share them.",
    "NIR_NO_CALLEE": "A pass reads a module that was built in Python and not verified. In parsed "
    "modules, the verifier refuses the call before any pass runs.",
    "NIR_SIM033": "`neuron-sim run --model MODEL` compares the outputs of a binary with those of "
    "the interpreter on the model that it was compiled from. They differ by more than the "
    "rounding of the compiled precision explains only if the compiler has a bug.",
    "NIR_TIL002": _TILED,
    "NIR_TIL003": _TILED,
    "NIR_TIL004": _TILED,
    "NIR_TIL005": _TILED,
    "NIR_TIL007": _TILED,
    "NIR_TIL008": _TILED,
    "NIR_TIL009": _TILED,
    "NIR_TORCH012": "`neuronir.torch.analyze` checks operators in processes of their own, and one "
    "of them ends without an answer.",
}
"""When an error arises, for each code without an example in `errors/` and some others."""
