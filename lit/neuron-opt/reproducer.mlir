// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p canonicalize,test-crash,cse --crash-reproducer=%t.mlir 2>&1 | filecheck %s --check-prefix=MESSAGE
// RUN: cat %t.mlir | filecheck %s --check-prefix=FILE
// RUN: status 70 neuron-opt --run-reproducer %t.mlir --crash-reproducer=%t.again 2>&1 | filecheck %s --check-prefix=MESSAGE
// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p canonicalize,test-crash,cse --crash-reproducer=%t.local --mlir-pass-pipeline-local-reproducer 2>&1 | filecheck %s --check-prefix=MESSAGE
// RUN: cat %t.local | filecheck %s --check-prefix=LOCAL
// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p test-break-ir --crash-reproducer=%t.broken 2>&1 | filecheck %s --check-prefix=BROKEN
// RUN: neuron-opt %s --load %S/Inputs/passes.py -p test-mark --crash-reproducer=%t.none | filecheck %s
// RUN: status 1 neuron-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NOREPRO
// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p test-crash --crash-reproducer=%t.trace --debug 2>&1 | filecheck %s --check-prefix=TRACE

// MESSAGE: error: internal error in pass 'test-crash': RuntimeError: index out of thin air
// MESSAGE: note: reproducer written to
// MESSAGE-NOT: Traceback
// FILE: // neuron-opt-reproducer: {"pipeline": "canonicalize,test-crash,cse", "verify_each": true
// FILE: %d = arith.addi
// LOCAL: "pipeline": "test-crash,cse"
// LOCAL-NOT: arith.addi
// BROKEN: error: internal error: pass 'test-break-ir' made invalid IR
// CHECK: func.func @f(%a: i32) -> i32 attributes {marked}
// NOREPRO: [NIR_REPRODUCER] the input is not a reproducer
// TRACE: Traceback (most recent call last)

func.func @f(%a : i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  func.return %d : i32
}
