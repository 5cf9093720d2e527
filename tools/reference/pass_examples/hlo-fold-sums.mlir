// neuron-opt -p hlo-fold-sums,hlo-dce
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.constant dense<[-0.5, -0.5]> : tensor<2xf32>
  %y = hlo.add %x, %a : tensor<2xf32>
  %z = hlo.add %y, %b : tensor<2xf32>
  func.return %z : tensor<2xf32>
}
