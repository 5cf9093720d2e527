// RUN: neuron-opt %s -p canonicalize,dce --print-ir-after-all 2>&1 >%t.out | filecheck %s --check-prefix=AFTER
// RUN: neuron-opt %s -p canonicalize,dce --print-ir-before=dce 2>&1 >%t.out | filecheck %s --check-prefix=BEFORE
// RUN: neuron-opt %s -p canonicalize,dce --mlir-print-ir-after-change 2>&1 >%t.out | filecheck %s --check-prefix=CHANGE
// RUN: neuron-opt %s -p canonicalize,dce --print-ir-tree-dir=%t.dir && cat %t.dir/builtin_module_no-symbol-name/0_canonicalize.mlir %t.dir/builtin_module_no-symbol-name/1_dce.mlir | filecheck %s --check-prefix=AFTER
// RUN: status 70 neuron-opt %s --load %S/Inputs/passes.py -p test-crash --print-ir-after-failure --crash-reproducer=%t.repro 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: cat %t.out | filecheck %s --check-prefix=OUT

// AFTER: IR Dump After canonicalize //----- //
// AFTER-NOT: arith
// AFTER: IR Dump After dce //----- //
// BEFORE-NOT: canonicalize
// BEFORE: IR Dump Before dce //----- //
// CHANGE: IR Dump After canonicalize //----- //
// CHANGE: IR Dump After dce (no change) //----- //
// FAILED: IR Dump After test-crash Failed //----- //
// OUT-NOT: Dump

func.func @f(%a : i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  func.return %d : i32
}
