// neuron-opt -p hlo-cse
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = hlo.tanh %x : tensor<4xf32>
  %b = hlo.tanh %x : tensor<4xf32>
  %c = hlo.multiply %a, %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
