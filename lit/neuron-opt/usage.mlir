// RUN: status 2 neuron-opt %s --nonsense 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: status 2 neuron-opt %s -p cse,canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: status 2 neuron-opt %s -p 'cse{deep=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: status 2 neuron-opt %s -p 'cse{' 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: status 2 neuron-opt %s -p 'scf.for(cse)' 2>&1 | filecheck %s --check-prefix=NEST
// RUN: status 2 neuron-opt %s -t nonsense 2>&1 | filecheck %s --check-prefix=FORMAT
// RUN: status 2 neuron-opt %s -p cse --dce 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: status 2 neuron-opt %s --print-ir-after=nonsense 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: status 1 neuron-opt no-such-file.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: status 1 neuron-opt %s -o no-such-folder/x.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: status 1 neuron-opt --load no-such-file.py %s 2>&1 | filecheck %s --check-prefix=LOAD

// UNKNOWN: neuron-opt: error: unrecognized arguments: --nonsense
// PASS: [NIR_PIPELINE] unknown pass 'canonicalise'
// PASS-NEXT: cse,canonicalise
// PASS-NEXT: {{^      \^}}
// PASS-NEXT: did you mean canonicalize
// OPTION: pass 'cse': no option 'deep'
// SYNTAX: expected ',' between passes
// NEST: passes cannot be nested on 'scf.for' in 'builtin.module'
// FORMAT: unknown format 'nonsense' (choose from
// BOTH: give passes either as options or as a pipeline
// DUMP: --print-ir-before/after: unknown pass 'nonsense'
// MISSING: [NIR_INPUT] cannot read 'no-such-file.mlir': No such file or directory
// OUTPUT: [NIR_OUTPUT] cannot write 'no-such-folder/x.mlir'
// LOAD: cannot read 'no-such-file.py'

func.func @f() {
  func.return
}
