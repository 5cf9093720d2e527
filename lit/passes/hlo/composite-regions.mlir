// The regions of composites are left alone by the passes that simplify, and simplified by
// hlo-decompose where it rewrites something in them.

// RUN: neuron-opt %s -p hlo-canonicalize,hlo-constant-fold,hlo-cse,hlo-dce | filecheck %s
// RUN: neuron-opt %s -p hlo-decompose | filecheck %s --check-prefix=DECOMPOSED

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    %0 = hlo.composite %x kind = custom ({
// CHECK:           hlo.log_plus_one
// CHECK:           hlo.multiply
// CHECK:           hlo.return
// CHECK-NEXT:    })
// CHECK-NEXT:    func.return %0

// DECOMPOSED-LABEL: func.func @f
// DECOMPOSED:         hlo.composite
// DECOMPOSED-NOT:     hlo.log_plus_one
// DECOMPOSED-NOT:     hlo.broadcast %one
// DECOMPOSED:         hlo.log %
// DECOMPOSED:         hlo.return
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.composite %x kind = custom ({
  ^bb0(%a: tensor<4xf32>):
    %one = hlo.constant dense<1.0> : tensor<f32>
    %ones = hlo.broadcast %one dimensions = [] : (tensor<f32>) -> tensor<4xf32>
    %l = hlo.log_plus_one %a : tensor<4xf32>
    %m = hlo.multiply %l, %ones : tensor<4xf32>
    hlo.return %m : tensor<4xf32>
  }) : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
