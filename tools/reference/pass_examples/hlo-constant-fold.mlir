// neuron-opt -p hlo-constant-fold,hlo-dce
func.func @main() -> tensor<2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = hlo.add %a, %b : tensor<2xf32>
  func.return %c : tensor<2xf32>
}
