// RUN: neuron-opt %s -p hlo-auto-cast | filecheck %s
// RUN: neuron-opt %s -p hlo-auto-cast,hlo-auto-cast | filecheck %s
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="fp16"}' | filecheck %s --check-prefix=ALL
// RUN: neuron-opt %s -p 'hlo-auto-cast{type="tf32"}' | filecheck %s --check-prefix=TF32
// RUN: neuron-opt %s -p 'hlo-auto-cast{type="tf32"}' | neuron-opt -p 'hlo-auto-cast{type="tf32"}' | filecheck %s --check-prefix=TF32
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="none"}' | filecheck %s --check-prefix=NONE
// RUN: not neuron-opt %s -p 'hlo-auto-cast{type="int8"}' 2>&1 | filecheck %s --check-prefix=BAD

// CHECK:       hlo.auto_cast = "matmult:bf16"
// CHECK:       func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:    %[[A:.*]] = hlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-NEXT:    %[[B:.*]] = hlo.convert %b : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK-NEXT:    %[[D:.*]] = hlo.dot %[[A]], %[[B]] {{.*}} -> tensor<4x4xf32>
// CHECK-NEXT:    %[[T:.*]] = hlo.tanh %[[D]] : tensor<4x4xf32>
// ALL:           %[[D:.*]] = hlo.dot {{.*}} -> tensor<4x4xf32>
// ALL-NEXT:      %[[N:.*]] = hlo.convert %[[D]] : (tensor<4x4xf32>) -> tensor<4x4xf16>
// ALL-NEXT:      %[[T:.*]] = hlo.tanh %[[N]] : tensor<4x4xf16>
// ALL-NEXT:      %[[W:.*]] = hlo.convert %[[T]] : (tensor<4x4xf16>) -> tensor<4x4xf32>
// ALL-NEXT:      func.return %[[W]] : tensor<4x4xf32>
// TF32:          %[[A:.*]] = hlo.convert %a : (tensor<4x8xf32>) -> tensor<4x8xtf32>
// TF32-NEXT:     %[[B:.*]] = hlo.convert %b : (tensor<8x4xf32>) -> tensor<8x4xtf32>
// TF32-NEXT:     hlo.dot %[[A]], %[[B]] {{.*}} : (tensor<4x8xtf32>, tensor<8x4xtf32>) -> tensor<4x4xf32>
// NONE:          hlo.auto_cast = "none"
// NONE-NOT:      hlo.convert
// BAD:           [NIR_PASS_OPTION] hlo-auto-cast: mode 'matmult' with type 'int8' is not supported
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = hlo.tanh %0 : tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
