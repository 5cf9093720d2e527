// neuron-opt -p hlo-mark-stages{target=inf1 cores=2}
func.func @main(%x: tensor<128x2048xbf16>) -> tensor<128x2048xbf16> {
  %v = hlo.constant dense<0.5> : tensor<2048x2048xbf16>
  %w = hlo.constant dense<0.25> : tensor<2048x2048xbf16>
  %h = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<128x2048xbf16>
  %y = hlo.dot %h, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<128x2048xbf16>
  func.return %y : tensor<128x2048xbf16>
}
