// RUN: neuron-opt %s --split-input-file -p canonicalize | filecheck %s
// RUN: status 1 neuron-opt %s --split-input-file --load %S/Inputs/passes.py -p test-refuse 2>&1 | filecheck %s --check-prefix=LINES

// CHECK: func.func @f
// CHECK: {{^// -----$}}
// CHECK: func.func @f
// LINES: split.mlir:9:1: error: [NIR_TEST] refused
// LINES: split.mlir:15:1: error: [NIR_TEST] refused
func.func @f() {
  func.return
}

// -----

func.func @f() {
  func.return
}
