// RUN: neuron-opt %s -p hlo-fold-conditional | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT:     hlo.conditional
// CHECK:         hlo.cosine %x
// CHECK-NOT:     hlo.sine
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = hlo.constant dense<false> : tensor<i1>
  %0 = hlo.conditional %p, %x, %x ({
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.sine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.cosine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
