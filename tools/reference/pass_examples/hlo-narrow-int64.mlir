// neuron-opt -p hlo-narrow-int64
func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> attributes {hlo.entry} {
  %one = hlo.constant dense<1> : tensor<4xi64>
  %y = hlo.add %x, %one : tensor<4xi64>
  func.return %y : tensor<4xi64>
}
