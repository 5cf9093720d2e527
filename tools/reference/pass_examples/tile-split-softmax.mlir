// neuron-opt -p tile-split-softmax{target=trn1}
func.func @main(%x: tensor<512x768xf32>, %w: tensor<768x32768xf32>) -> tensor<512xf32> {
  %d = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<512x768xf32>, tensor<768x32768xf32>) -> tensor<512x32768xf32>
  %lowest = hlo.constant dense<"0x000080FF"> : tensor<f32>
  %m = hlo.reduce %d, %lowest dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.maximum %a, %b : tensor<f32>
    hlo.return %c : tensor<f32>
  }) : (tensor<512x32768xf32>, tensor<f32>) -> tensor<512xf32>
  %wide = hlo.broadcast %m dimensions = [0] : (tensor<512xf32>) -> tensor<512x32768xf32>
  %s = hlo.subtract %d, %wide : tensor<512x32768xf32>
  %e = hlo.exponential %s : tensor<512x32768xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %sum = hlo.reduce %e, %zero dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.add %a, %b : tensor<f32>
    hlo.return %c : tensor<f32>
  }) : (tensor<512x32768xf32>, tensor<f32>) -> tensor<512xf32>
  func.return %sum : tensor<512xf32>
}
