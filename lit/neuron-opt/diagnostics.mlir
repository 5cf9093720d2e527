// RUN: status 1 neuron-opt %s --split-input-file --mlir-print-debuginfo 2>&1 | filecheck %s

// The place, the line and a caret; never the whole module, never a traceback.

// CHECK:      diagnostics.mlir:9:8: error: 'arith.addi' op Expected 2 operands, but got 1
// CHECK-NEXT: {{^  %d = "arith.addi"\(%a\)}}
// CHECK-NEXT: {{^       \^$}}
func.func @f(%a : i32) -> i32 {
  %d = "arith.addi"(%a) : (i32) -> i32
  func.return %d : i32
}
// -----
// CHECK:      error: use of undefined value '%nowhere'
// CHECK-NEXT:   func.return %nowhere : i32
// CHECK-NEXT: {{^  \^$}}
func.func @f() -> i32 {
  func.return %nowhere : i32
}
// -----
// CHECK:      error: location '#nowhere' is not defined
// CHECK-NEXT: func.return %a : i32 loc(#nowhere)
func.func @f(%a : i32) -> i32 {
  func.return %a : i32 loc(#nowhere)
}
// -----
// CHECK: error: operation 'nonsense.op' is not registered
"nonsense.op"() : () -> ()
// -----
// CHECK:      error: Expected shape type.
// CHECK-NEXT: func.func @f(%a : tensor<4xnonsense>) {
func.func @f(%a : tensor<4xnonsense>) {
  func.return
}
// CHECK-NOT: Traceback
