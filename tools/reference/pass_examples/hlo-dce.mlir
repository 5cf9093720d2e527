// neuron-opt -p hlo-dce
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %unused = hlo.tanh %x : tensor<4xf32>
  %a = hlo.negate %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
