// RUN: neuron-opt --list-passes --load %S/Inputs/passes.py | filecheck %s --check-prefix=PASSES
// RUN: neuron-opt --list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: neuron-opt --help-pass=test-mark --load=%S/Inputs/passes.py | filecheck %s --check-prefix=HELP
// RUN: status 1 neuron-opt --help-pass=nonsense 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: neuron-opt --explain NCC_EMOD025 | filecheck %s --check-prefix=EXPLAIN
// RUN: status 1 neuron-opt --explain NCC_EMOD052 2>&1 | filecheck %s --check-prefix=NOCODE
// RUN: neuron-opt %s --dump-pass-pipeline --load %S/Inputs/passes.py -p 'test-mark{label=ab times=2 scale=1e-05},canonicalize' 2>&1 >%t | filecheck %s --check-prefix=PIPELINE
// RUN: neuron-opt %s --dump-pass-pipeline --load %S/Inputs/passes.py -p 'builtin.module(test-mark{label=ab times=2 scale=1.0e-05},canonicalize)' 2>&1 >%t | filecheck %s --check-prefix=PIPELINE
// RUN: neuron-opt --version | filecheck %s --check-prefix=VERSION

// PASSES: test-crash{{ +}}Fails with a bug.
// PASSES: {{^xdsl:$}}
// PASSES: {{^  canonicalize$}}
// DIALECTS: {{^neuronir:$}}
// DIALECTS-NEXT: {{^  check$}}
// DIALECTS-NEXT: {{^  hlo$}}
// DIALECTS-NEXT: {{^  nc$}}
// DIALECTS: {{^xdsl:$}}
// HELP: test-mark (from
// HELP: Marks every function.
// HELP: label: str (default marked)
// HELP-NEXT: the name of the attribute
// HELP-NEXT: times: int (default 1)
// UNKNOWN: unknown pass 'nonsense'
// EXPLAIN: NCC_EMOD025: a shape is dynamic
// EXPLAIN-NEXT: help: compile with static shapes
// NOCODE: error: [NIR_ARG002] there is no error code 'NCC_EMOD052'
// NOCODE-NEXT: help: did you mean NCC_EMOD025
// PIPELINE: {{^builtin.module\(test-mark\{label=ab times=2 scale=1.0e-05\},canonicalize\)$}}
// VERSION: neuron-opt {{[0-9.]+}} (xdsl 0.74.0)
func.func @f() {
  func.return
}
