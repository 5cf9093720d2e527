// RUN: neuron-opt %s -p hlo-inline | filecheck %s

// Calls are inlined, innermost first, and functions without callers are erased.

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %{{.*}} = hlo.cosine %x {metadata = {op_name = "inner"}} : tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = hlo.negate
// CHECK-NEXT:    %{{.*}} = hlo.sine
// CHECK-NEXT:    func.return
// CHECK-NOT:   func.func
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.call %x callee = @outer : tensor<4xf32>
  %1 = hlo.sine %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.call %x callee = @inner : tensor<4xf32>
  %1 = hlo.negate %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.cosine %x {metadata = {op_name = "inner"}} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
