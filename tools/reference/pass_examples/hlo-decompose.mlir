// neuron-opt -p hlo-decompose
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = hlo.constant dense<0.0> : tensor<f32>
  %high = hlo.constant dense<6.0> : tensor<f32>
  %y = hlo.clamp %low, %x, %high : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
