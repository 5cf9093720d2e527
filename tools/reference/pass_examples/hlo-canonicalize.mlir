// neuron-opt -p hlo-canonicalize
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = hlo.transpose %x permutation = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %b = hlo.transpose %a permutation = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %two = hlo.constant dense<2.0> : tensor<f32>
  %c = hlo.broadcast %two dimensions = [] : (tensor<f32>) -> tensor<4x6xf32>
  %d = hlo.divide %b, %c : tensor<4x6xf32>
  func.return %d : tensor<4x6xf32>
}
