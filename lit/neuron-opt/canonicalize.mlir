// RUN: neuron-opt %s -p canonicalize | filecheck %s
// RUN: status 2 neuron-opt %s --nonsense 2>&1 | filecheck %s --check-prefix=USAGE

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    func.return %a : i32
// USAGE: neuron-opt: error: unrecognized arguments: --nonsense
func.func @f(%a : i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  func.return %d : i32
}
