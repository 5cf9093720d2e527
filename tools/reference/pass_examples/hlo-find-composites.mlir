// neuron-opt -p hlo-find-composites
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = hlo.constant dense<1.0> : tensor<f32>
  %ones = hlo.broadcast %one dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %0 = hlo.negate %x : tensor<4x8xf32>
  %1 = hlo.exponential %0 : tensor<4x8xf32>
  %2 = hlo.add %1, %ones : tensor<4x8xf32>
  %3 = hlo.divide %x, %2 : tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}
