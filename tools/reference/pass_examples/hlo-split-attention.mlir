// neuron-opt -p hlo-split-attention{target=trn1}
func.func @main(%q: tensor<1x4x197x64xf32>, %k: tensor<1x4x197x64xf32>, %v: tensor<1x4x197x64xf32>) -> tensor<1x4x197x64xf32> {
  %s = hlo.dot %q, %k lhs_batch_dims = [0, 1], rhs_batch_dims = [0, 1], lhs_contracting_dims = [3], rhs_contracting_dims = [3] : (tensor<1x4x197x64xf32>, tensor<1x4x197x64xf32>) -> tensor<1x4x197x197xf32>
  %p = hlo.composite %s kind = softmax, params = {axes = array<i64: 3>, axis = 3 : i64} ({
  ^bb0(%0: tensor<1x4x197x197xf32>):
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %low = hlo.constant dense<"0x000080FF"> : tensor<f32>
    %m = hlo.reduce %0, %low dimensions = [3] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.maximum %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<1x4x197x197xf32>, tensor<f32>) -> tensor<1x4x197xf32>
    %mb = hlo.broadcast %m dimensions = [0, 1, 2] : (tensor<1x4x197xf32>) -> tensor<1x4x197x197xf32>
    %d = hlo.subtract %0, %mb : tensor<1x4x197x197xf32>
    %x = hlo.exponential %d : tensor<1x4x197x197xf32>
    %t = hlo.reduce %x, %zero dimensions = [3] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.add %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<1x4x197x197xf32>, tensor<f32>) -> tensor<1x4x197xf32>
    %tb = hlo.broadcast %t dimensions = [0, 1, 2] : (tensor<1x4x197xf32>) -> tensor<1x4x197x197xf32>
    %p_1 = hlo.divide %x, %tb : tensor<1x4x197x197xf32>
    hlo.return %p_1 : tensor<1x4x197x197xf32>
  }) : tensor<1x4x197x197xf32>
  %r = hlo.dot %p, %v lhs_batch_dims = [0, 1], rhs_batch_dims = [0, 1], lhs_contracting_dims = [3], rhs_contracting_dims = [2] : (tensor<1x4x197x197xf32>, tensor<1x4x197x64xf32>) -> tensor<1x4x197x64xf32>
  func.return %r : tensor<1x4x197x64xf32>
}
