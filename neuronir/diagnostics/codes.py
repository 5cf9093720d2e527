"""The table of error codes: the cause of each, and what to do.

docs/error-codes.md and the pages in docs/errors are made from it.
NCC codes are those of AWS's compiler. A target of another package may add codes of its own.
"""

from difflib import get_close_matches

from neuronir.dialects.support.errors import NeuronError

CODES: dict[str, tuple[str, str]] = {
    "NCC_EARG001": (
        "an option has a value that the target does not support",
        "use a value that the message names",
    ),
    "NCC_EBVF030": (
        "the program has more instructions than a target without control flow can hold",
        "use a smaller model, or a target with control flow (trn1)",
    ),
    "NCC_EHCA005": (
        "the target of a custom call is unknown",
        "replace the custom call with ordinary operations",
    ),
    "NCC_EMOD025": ("a shape is dynamic", "compile with static shapes"),
    "NCC_EOOM002": (
        "a memory (SBUF, PSUM or HBM) is too small for the program",
        "use a smaller batch or a narrower type, or split the model",
    ),
    "NCC_ESPP004": ("a data type is not supported", "convert the model to a supported type"),
    "NCC_ESPP047": (
        "an FP8 type is not supported by the target",
        "use an FP8 type that the target supports",
    ),
    "NCC_EUOC002": (
        "the model has unsupported operators; the message lists all of them",
        "replace the operators; `list-operators` prints those that are supported",
    ),
    "NCC_EVRF001": (
        "an operation, or the form in which the model uses it, is not supported by the target",
        "rewrite the operation as the message suggests",
    ),
    "NCC_EVRF004": ("complex types are not supported", "compute with real and imaginary parts"),
    "NCC_EVRF010": ("a convolution has both input and kernel dilation", "use only one of them"),
    "NCC_EVRF011": (
        "a convolution has both window strides and input dilation",
        "use only one of them",
    ),
    "NCC_EVRF016": (
        "a scatter combines values in a way that is not supported",
        "use add, min, max or assignment",
    ),
    "NCC_EVRF017": ("a reduce-window has base dilation", "pad the operand explicitly"),
    "NCC_EVRF018": ("a reduce-window has window dilation", "use a window without dilation"),
    "NCC_EVRF019": (
        "a reduce-window has more than one operand",
        "use one reduce-window for each operand",
    ),
    "NCC_EVRF035": (
        "an operand of a dot or convolution has a type that the tensor engine does not support",
        "convert it to a supported type",
    ),
    "NCC_EVRF051": ("F8E4M3FN is not supported before trn3", "use F8E4M3"),
    "NIR_API001": (
        "the inputs of a call do not match those of the model",
        "pass each input once, with its name and shape",
    ),
    "NIR_API002": (
        "a Python object of this type cannot be compiled",
        "pass a path, HLO text, an onnx.ModelProto or a tensorflow.GraphDef",
    ),
    "NIR_API003": ("the ONNX backend has no such device", "use a device that the message names"),
    "NIR_ARG001": (
        "--framework names an unsupported framework",
        "export the model to a supported format",
    ),
    "NIR_ARG002": (
        "an option or its value is recognised but not supported",
        "follow the suggestion of the message",
    ),
    "NIR_ARG003": (
        "--io-config or --input-shape is malformed or contradictory, or does not fit a module",
        "use NAME=1x128, or the JSON form in the message",
    ),
    "NIR_CACHE001": ("a size is malformed", "write bytes, or a number with K, M, G or T"),
    "NIR_CACHE002": (
        "the URL of a cache cannot be opened",
        "install neuronir[remote] and the package of the URL, or correct the URL",
    ),
    "NIR_CACHE003": ("there is no cache to work on", "name its folder or URL with --cache-dir"),
    "NIR_CACHE004": (
        "no entry of the cache, or more than one, begins with a name",
        "use a name that neuron-cache list prints",
    ),
    "NIR_CACHE005": (
        "entries of the cache are damaged",
        "remove them with neuron-cache verify --remove",
    ),
    "NIR_CACHE006": (
        "the cache cannot be read or changed",
        "check its folder or URL, and the permissions",
    ),
    "NIR_CMP001": (
        "the precision of a comparison is unknown",
        "use a precision that the message names",
    ),
    "NIR_CMP002": (
        "the reference file has no outputs",
        "name the arrays out0, out1 ..., or stat0 and head0 ...",
    ),
    "NIR_DEPTH": (
        "the program is nested too deeply for Python's stack",
        "nest calls, loops and brackets less deeply",
    ),
    "NIR_DRV001": (
        "a phase is unknown, or the first phase is not before the last one",
        "use phases that the message names, in their order",
    ),
    "NIR_DRV002": (
        "the module has no entry function @main",
        "add it, or mark the entry computation",
    ),
    "NIR_DRV003": (
        "an array of --weights names no parameter, or a parameter is bound twice",
        "name arrays argN, or like the parameter",
    ),
    "NIR_DRV004": ("an array of --weights has the wrong shape", "use the shape of the parameter"),
    "NIR_DRV005": (
        "an array of --weights has the wrong type",
        "convert the array; bfloat16 and float8 need NAME__dtype",
    ),
    "NIR_DRV006": (
        "--weights is combined with --compile-from",
        "bind the weights when the model is read",
    ),
    "NIR_DRV007": (
        "the IR is in another phase, or for another machine, than the options say",
        "correct --compile-from and --target",
    ),
    "NIR_DRV010": (
        "--model or --weights is not what the binary was compiled from",
        "pass the original model and weights",
    ),
    "NIR_DRV011": ("the target has no phase `tiled`", "remove --tiling, or use another phase"),
    "NIR_DRV012": ("the process of a compile failed", "see the message"),
    "NIR_DRV013": (
        "the program computes nothing that could be cut into stages",
        "use --neuroncore-pipeline-cores 1",
    ),
    "NIR_DRV014": (
        "--pass-after names a phase that the compile does not run",
        "use one of the phases in the message",
    ),
    "NIR_DYNAMIC_WHILE": (
        "the trip count of a loop depends on data",
        "count up or down by 1 to a value that is known before the loop begins (trn1), or to a "
        "constant",
    ),
    "NIR_ENC001": (
        "an instruction cannot be encoded, because a field does not fit",
        "check the operands of the instruction",
    ),
    "NIR_ENC002": ("loops are nested more deeply than the sequencer supports", "unroll a loop"),
    "NIR_ENC003": (
        "an instruction is in the stream of an engine that cannot execute it",
        "assign it to an engine that the message names",
    ),
    "NIR_ENC004": (
        "an address comes from a register, and the target has none",
        "use a target with control flow, or make the index constant",
    ),
    "NIR_ENC005": (
        "a stream uses more registers than the machine has",
        "keep fewer dynamic indices live",
    ),
    "NIR_ENC006": (
        "the nc module cannot be encoded",
        "run @nc-order, nc-allocate and nc-synchronise first",
    ),
    "NIR_EVAL001": (
        "the interpreter cannot evaluate an operation",
        "run single-device programs without side effects",
    ),
    "NIR_EVAL002": ("the module has no function of this name", "use a name that the message lists"),
    "NIR_EVAL003": (
        "a parameter is not an array",
        "pass the elements of a tuple as separate parameters",
    ),
    "NIR_EXP001": (
        "the terminal application of neuron-explore needs Textual, which is not installed",
        "pip install 'neuronir[explore]', or use --html or --list",
    ),
    "NIR_EXP002": (
        "the terminal application of neuron-explore needs a terminal",
        "do not redirect its input and output, or use --html or --list",
    ),
    "NIR_EXP003": (
        "the phases that --phases selects are not part of the compile",
        "select phases that the message lists, or choose the lowering path with --tiling",
    ),
    "NIR_FMT001": ("an output format cannot express an operation", "print the module as MLIR"),
    "NIR_HLO001": ("syntax error in HLO text", "see the location and the caret"),
    "NIR_HLO002": ("a shape or a layout in HLO text is malformed", "correct the shape"),
    "NIR_HLO003": ("an opcode is unknown", "check the spelling and the version of XLA"),
    "NIR_HLO004": ("a name is used before its definition, or never defined", "define it first"),
    "NIR_HLO005": ("a name or a parameter is defined twice", "rename one of them"),
    "NIR_HLO006": (
        "the structure of an HLO module is wrong (ENTRY, ROOT, parameters, recursion)",
        "see the message",
    ),
    "NIR_HLO007": ("an attribute is missing, unexpected or malformed", "see the message"),
    "NIR_HLO008": ("a literal does not fit its type", "correct the literal"),
    "NIR_HLO009": (
        "a constant was elided as `{...}`",
        "print the HLO with print_large_constants=True",
    ),
    "NIR_HLO010": ("an operation has the wrong number of operands", "see the message"),
    "NIR_HLO011": (
        "an operand is written with a shape that differs from its type",
        "correct the shape",
    ),
    "NIR_HLO012": ("IR has no form in HLO text", "print the module as HLO before it is lowered"),
    "NIR_HLO020": (
        "a resource is missing from the module",
        "print the module with its dialect_resources section",
    ),
    "NIR_HLO021": ("the HloModuleProto cannot be read", "see the message"),
    "NIR_IMP001": ("an operator is used in a form that is not supported", "see the message"),
    "NIR_IMP002": (
        "a value must be known at compile time, but depends on inputs",
        "bind the input with --weights, or make it a constant",
    ),
    "NIR_IMP003": ("shapes do not broadcast", "correct the model"),
    "NIR_IMP004": ("element types differ", "insert a cast in the model"),
    "NIR_IMP005": (
        "a given value does not have the type of its input",
        "pass a value of that type",
    ),
    "NIR_INPUT": (
        "an input file cannot be read, or has the wrong format",
        "check the path and the format",
    ),
    "NIR_INTERNAL": ("internal error of the compiler", "report it with the reproducer"),
    "NIR_IR": ("the IR is invalid, or a pass refuses it", "see the message"),
    "NIR_JAX001": ("the package jax is not installed", "pip install jax"),
    "NIR_LOAD": (
        "a file of --load cannot be loaded",
        "define PASSES, DIALECTS or TARGETS in a Python file without errors",
    ),
    "NIR_LOW001": ("a value cannot have the required layout", "compile with --tiling always"),
    "NIR_LOW002": ("a value has no copy in memory", "report it"),
    "NIR_LOW003": (
        "an operand of a dot, convolution or copy has an unsupported layout",
        "compile with --tiling always",
    ),
    "NIR_LOW004": (
        "an elementwise operation, reduction or move has an unsupported layout",
        "compile with --tiling always",
    ),
    "NIR_LOW005": (
        "parameters or results of the entry computation are not arrays",
        "pass arrays, and build the root tuple in the entry computation",
    ),
    "NIR_LOW006": (
        "a pass lacks its target or its entry function, or an option has no meaning",
        "use for example {target=trn1}",
    ),
    "NIR_LOW007": ("a pass option has an invalid value", "use the form in the message"),
    "NIR_LOW008": (
        "an attribute that assigns layouts or blocks does not fit its op",
        "let the pass choose the attribute",
    ),
    "NIR_MANY001": (
        "several workers need Dask, which is not installed",
        "pip install 'neuronir[parallel]', or use --jobs 1",
    ),
    "NIR_MANY002": (
        "there is no Dask scheduler at an address",
        "start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
    ),
    "NIR_MANY003": (
        "two models have the same output file",
        "rename a model, or compile them separately",
    ),
    "NIR_MANY004": (
        "a command that runs models ended with an error",
        "see its messages; NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE=1 continues",
    ),
    "NIR_MANY005": (
        "a model cannot be collected: its compile would not use a cache in a folder",
        "use a cache in a folder, and leave out the option of the message",
    ),
    "NIR_MANY006": (
        "a command that should compile models collected none",
        "compile with neuronx-cc or neuron-cc, and with the cache of the message",
    ),
    "NIR_MANY007": (
        "a collected model is damaged, or other users can write it",
        "remove it with --command clean, and collect it again",
    ),
    "NIR_MEMORY": (
        "there is not enough memory",
        "give the process more memory, or use smaller arrays",
    ),
    "NIR_NC001": (
        "the module does not name its machine",
        'set the module attribute nc.machine, as in {nc.machine = "trn1"}',
    ),
    "NIR_NC002": ("a pass is run in the wrong phase", "run the passes in the order of the message"),
    "NIR_NC003": (
        "a loop does not run from 0 to a constant in steps of 1, or carries values",
        "rewrite the loop",
    ),
    "NIR_NC004": (
        "a variable does not exist, or does not fit the variable that it is part of",
        "see the message",
    ),
    "NIR_NC005": ("a buffer has no address", "run nc-allocate first"),
    "NIR_NC006": (
        "an index is not a loop variable, an argument or a register",
        "run nc-unroll, which folds constants",
    ),
    "NIR_NC007": ("a sequencer has too few registers", "keep fewer dynamic indices live"),
    "NIR_NC008": ("the machine has too few semaphores", "await fewer transfers separately"),
    "NIR_NC009": (
        "a call does not fit its function, or functions are recursive",
        "correct the call",
    ),
    "NIR_NC010": (
        "an instruction or a buffer exceeds a limit of the machine",
        "see the limit in the message",
    ),
    "NIR_NC011": (
        "a pass changed the values that an instruction reads",
        "report it; for handwritten IR, see the message",
    ),
    "NIR_NEFF001": ("a binary has no valid header, or another producer", "compile the model again"),
    "NIR_NEFF002": ("a binary is truncated or too long", "compile the model again"),
    "NIR_NEFF003": ("a binary has a later container or format version", "update NeuronIR"),
    "NIR_NEFF004": ("the contents of a binary do not match its hash", "compile the model again"),
    "NIR_NEFF005": ("the archive of a binary is malformed", "compile the model again"),
    "NIR_NEFF006": ("a JSON member of a binary is malformed", "compile the model again"),
    "NIR_NEFF007": (
        "an instruction stream of a binary cannot be decoded",
        "compile the model again",
    ),
    "NIR_NEFF008": ("the parts of a binary are inconsistent", "compile the model again"),
    "NIR_NEFF009": (
        "the file holds a pipeline over several cores, not a program for one",
        "use `neuron-sim run`, or compile for one core",
    ),
    "NIR_NESTING": (
        "a pass that adds or removes functions is nested on func.func",
        "run the pass on the module",
    ),
    "NIR_NO_CALLEE": ("a called computation does not exist", "define it"),
    "NIR_NPZ001": (
        "an npz file cannot hold arrays of this type",
        "use a type that the message lists",
    ),
    "NIR_NPZ002": (
        "NAME__dtype does not fit its array",
        "store bfloat16 as uint16 and float8 as uint8",
    ),
    "NIR_NPZ003": ("a file is not an npz file", "write it with numpy.savez"),
    "NIR_NPZ004": ("an npz file does not exist", "check the path"),
    "NIR_NPZ005": (
        "the number of arguments is wrong",
        "name arrays arg0, arg1 ... in the order of the parameters",
    ),
    "NIR_NPZ006": ("an argument has the wrong shape", "use the shape of the parameter"),
    "NIR_NPZ007": (
        "an argument has the wrong type",
        "convert the array; bfloat16 and float8 need NAME__dtype",
    ),
    "NIR_ONNX000": ("the package onnx is not installed", "pip install 'neuronir[onnx]'"),
    "NIR_ONNX001": ("an ONNX file is damaged, or not an ONNX model", "export the model again"),
    "NIR_ONNX002": (
        "external data is not a regular file, or too short",
        "restore the file beside the model",
    ),
    "NIR_ONNX003": ("external data is outside the model's folder", "move it beside the model"),
    "NIR_ONNX004": ("the opset is not supported", "convert the model with onnx.version_converter"),
    "NIR_ONNX005": (
        "an input or initializer is not a dense tensor",
        "use dense tensors of numbers",
    ),
    "NIR_ONNX006": ("inputs have unknown shapes", "bind them with --input-shape or --io-config"),
    "NIR_ONNX007": ("a binding does not fit an input", "correct --input-shape or --io-config"),
    "NIR_ONNX008": (
        "the graph is cyclic, inconsistent or nested too deeply",
        "export the model again",
    ),
    "NIR_OUTPUT": (
        "an output file cannot be written",
        "check the folder, its permissions and the disk space",
    ),
    "NIR_PASS_OPTION": (
        "an option of a pass has an invalid value",
        "use a value that the message names",
    ),
    "NIR_PIPELINE": (
        "a pass pipeline has a syntax error, or names an unknown pass or option",
        "see --list-passes",
    ),
    "NIR_PLUGIN": (
        "a plugin cannot be loaded, or two packages use the same name",
        "repair or uninstall the package",
    ),
    "NIR_RECURSION": ("computations call each other recursively", "remove the recursion"),
    "NIR_REPRODUCER": ("a file is not a reproducer", "pass a file that neuron-opt wrote"),
    "NIR_RUN": (
        "--run has nothing to run, or names an unknown phase",
        "add a function without arguments",
    ),
    "NIR_RUN002": ("--run found no checks", "add check.expect_eq or check.expect_close"),
    "NIR_RUN003": ("--run lacks an argument of @main", "name arrays arg0, arg1, ... in --inputs"),
    "NIR_SHL001": ("syntax error in StableHLO text", "see the location and the caret"),
    "NIR_SHL002": (
        "the file is a portable artifact of StableHLO, not text",
        "write the text, as the message says",
    ),
    "NIR_SIM001": (
        "the program reads memory that was never written, or leaves an output unwritten",
        "find the missing write; --uninitialized changes the check",
    ),
    "NIR_SIM002": ("an access is out of range", "correct the access pattern"),
    "NIR_SIM003": ("an instruction cannot be executed with its operands", "see the message"),
    "NIR_SIM004": (
        "deadlock: engines wait for each other",
        "see the blocked engines in the message; a barrier must be in every engine's stream",
    ),
    "NIR_SIM006": ("a program breaks a rule that holds on any machine", "see the message"),
    "NIR_SIM008": (
        "the inputs do not match the program",
        "use the shapes and types of the message",
    ),
    "NIR_SIM009": ("an instruction writes where it must not", "see the message"),
    "NIR_SIM010": (
        "a matmul accumulates into PSUM that no matmul has started",
        "start the accumulation group with a matmul that overwrites",
    ),
    "NIR_SIM011": (
        "functions are missing or recursive, or a matmul reuses a stationary operand that "
        "is not loaded",
        "see the message",
    ),
    "NIR_SIM020": (
        "data race: no semaphore orders two accesses",
        "let the second one wait for an update after the first one",
    ),
    "NIR_SIM030": (
        "an argument is missing, or a module does not name its machine",
        "name arrays arg0, arg1 ...",
    ),
    "NIR_SIM031": ("there are more arguments than the program takes", "remove them"),
    "NIR_SIM032": ("an output differs from --expect", "see the first difference in the message"),
    "NIR_SIM033": ("an output differs from that of the interpreter (--model)", "report it"),
    "NIR_SIM034": (
        "an input exceeds the bounds within which 64-bit integers fit in 32 bits",
        "use smaller values",
    ),
    "NIR_SIM035": (
        "an output has NaN (--check-nan)",
        "see the instruction in the message: a square root or logarithm of a negative value, or "
        "infinity minus infinity",
    ),
    "NIR_SIM036": (
        "a loop does not end within the limit of iterations",
        "check the inputs, or raise --max-iterations of neuron-sim run",
    ),
    "NIR_SIM040": (
        "an HTML report needs Bokeh, which is not installed",
        "pip install 'neuronir[report]'",
    ),
    "NIR_TARGET": (
        "a target is unknown, invalid or registered twice",
        "use a target that the message names",
    ),
    "NIR_TF001": ("a file is not a GraphDef or SavedModel, or damaged", "export the model again"),
    "NIR_TF002": ("the graph is inconsistent", "export the model again"),
    "NIR_TF003": ("inputs have unknown dimensions", "bind them with --input-shape or --io-config"),
    "NIR_TF004": ("a binding does not fit an input", "correct --input-shape or --io-config"),
    "NIR_TF005": ("there is no such signature", "use a signature that the message names"),
    "NIR_TF006": (
        "the checkpoint of a SavedModel is damaged, or stored in an unsupported form",
        "export the model again",
    ),
    "NIR_TF007": ("an output is not a tensor", "choose another output with --io-config"),
    "NIR_TGT001": (
        "there is no machine description of this name",
        "use a target that the message names",
    ),
    "NIR_TIL001": ("the tiled level cannot lay out a value", "compile with --tiling never"),
    "NIR_TIL002": ("no rule lowers an op at the tiled level", "compile with --tiling never"),
    "NIR_TIL003": ("a value has no location at the tiled level", "compile with --tiling never"),
    "NIR_TIL004": ("a tile or slice is not contiguous", "compile with --tiling never"),
    "NIR_TIL005": (
        "a transfer at the tiled level has an unsupported memory or type",
        "compile with --tiling never",
    ),
    "NIR_TIL007": (
        "a reduction or recurrence has an unsupported layout",
        "compile with --tiling never",
    ),
    "NIR_TIL008": ("a dot or convolution has an unsupported layout", "compile with --tiling never"),
    "NIR_TIL009": (
        "a loop at the tiled level has an unsupported form",
        "compile with --tiling never",
    ),
    "NIR_TORCH001": ("torch.export cannot capture the model", "see the reason in the message"),
    "NIR_TORCH002": ("the model returns no tensor", "return a tensor"),
    "NIR_TORCH003": ("the package torch is not installed", "pip install 'neuronir[torch]'"),
    "NIR_TORCH004": (
        "the model was traced by a later version",
        "update NeuronIR, or trace the model again",
    ),
    "NIR_TORCH005": (
        "NEURON_RT_VISIBLE_CORES or NEURON_RT_NUM_CORES is invalid",
        "use the form in the message",
    ),
    "NIR_TORCH006": ("input_output_aliases is invalid", "see the message"),
    "NIR_TORCH007": (
        "the inputs of a call do not match the traced model",
        "use the shapes and types of the example inputs",
    ),
    "NIR_TORCH008": (
        "inputs of a dynamic batch do not match",
        "use one size of dimension 0 for all inputs",
    ),
    "NIR_TORCH009": (
        "an argument or result is not a structure of tensors",
        "bind other values in a lambda",
    ),
    "NIR_TORCH010": (
        "replaced weights do not match",
        "use the names, shapes and types of the message",
    ),
    "NIR_TORCH011": (
        "a feature cannot be combined with partitioning",
        "trace the model without a PartitionerConfig",
    ),
    "NIR_TORCH012": ("a process of `analyze` failed", "see the message"),
    "NIR_TORCH013": (
        "a bucket kernel does not fit the buckets",
        "return as many tensors as the model takes, and the index of a bucket",
    ),
    "NIR_TORCH014": (
        "the results of a model depend on Python state that each call changes",
        "hold the state in a buffer, or make it an argument and a result",
    ),
    "NIR_TORCH015": (
        "a tensor is not on the CPU, or has no data",
        "move the model and its inputs to the CPU",
    ),
}
"""For each code, its cause and the action to take."""


def codes_markdown() -> str:
    """Return the page docs/error-codes.md."""
    lines = [
        "# Error codes",
        "",
        "Every error has a stable code in brackets. NCC codes are those of AWS's compiler, and NIR",
        "codes are NeuronIR's own. A message contains the location, the limit and the value. This",
        "page lists the causes and the actions. The page of a code lists its messages, and often",
        "has an example. `neuron-opt --explain CODE` prints the cause and the action.",
        "",
    ]
    lines += ["| code | cause | action |", "|---|---|---|"]
    lines += [
        f'| <a id="{code.lower()}"></a>[`{code}`](errors/{code}.md) | {cause} | {action} |'
        for code, (cause, action) in CODES.items()
    ]
    return "\n".join(lines) + "\n"


def explain(code: str) -> str:
    """Return the cause of an error and the action to take; NIR_ARG002 for an unknown code."""
    if code not in CODES:
        near = get_close_matches(code, CODES, n=3)
        raise NeuronError(
            "NIR_ARG002",
            f"there is no error code '{code}'",
            help=f"did you mean {' or '.join(near)}?" if near else "docs/error-codes.md lists them",
        )
    cause, action = CODES[code]
    return f"{code}: {cause}\nhelp: {action}\n"
