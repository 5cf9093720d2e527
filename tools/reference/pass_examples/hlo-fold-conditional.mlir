// neuron-opt -p hlo-fold-conditional
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = hlo.constant dense<true> : tensor<i1>
  %0 = hlo.conditional %p, %x, %x ({
  ^bb0(%a: tensor<4xf32>):
    %s = hlo.sine %a : tensor<4xf32>
    hlo.return %s : tensor<4xf32>
  }, {
  ^bb0(%b: tensor<4xf32>):
    %c = hlo.cosine %b : tensor<4xf32>
    hlo.return %c : tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
