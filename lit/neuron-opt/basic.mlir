// RUN: neuron-opt %s -p canonicalize,cse | filecheck %s
// RUN: neuron-opt %s --pass-pipeline='builtin.module(canonicalize, cse)' | filecheck %s
// RUN: neuron-opt %s --canonicalize -cse | filecheck %s
// RUN: neuron-opt -p canonicalize < %s | filecheck %s
// RUN: neuron-opt - -p canonicalize < %s | filecheck %s
// RUN: neuron-opt %s -p canonicalize -o %t.mlir && cat %t.mlir | filecheck %s
// RUN: neuron-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: neuron-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=LOC

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    func.return %a : i32
// GENERIC: "arith.addi"(%a, %c)
// LOC: %d = arith.addi %a, %c : i32 loc("{{.*}}basic.mlir":17:8)

func.func @f(%a : i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  func.return %d : i32
}
