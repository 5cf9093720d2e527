// neuron-opt -p hlo-fold-norms,hlo-dce
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %g = hlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
  %ng = hlo.composite %x, %g kind = layer_norm, params = {axes = array<i64: 1>, axis = 1 : i64, epsilon = 9.9999997473787516e-06 : f64, has_scale = true, has_offset = false} ({
  ^bb0(%0: tensor<2x4xf32>, %1: tensor<4xf32>):
    %gb = hlo.broadcast %1 dimensions = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %eps = hlo.constant dense<1.000000e-05> : tensor<f32>
    %epsb = hlo.broadcast %eps dimensions = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = hlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = hlo.broadcast %2 dimensions = [] : (tensor<f32>) -> tensor<2xf32>
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %t = hlo.reduce %0, %zero dimensions = [1] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.add %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %mean = hlo.multiply %t, %3 : tensor<2xf32>
    %mb = hlo.broadcast %mean dimensions = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %c = hlo.subtract %0, %mb : tensor<2x4xf32>
    %sq = hlo.multiply %c, %c : tensor<2x4xf32>
    %ts = hlo.reduce %sq, %zero dimensions = [1] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.add %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %var = hlo.multiply %ts, %3 : tensor<2xf32>
    %ve = hlo.add %var, %epsb : tensor<2xf32>
    %rs = hlo.rsqrt %ve : tensor<2xf32>
    %rb = hlo.broadcast %rs dimensions = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %n = hlo.multiply %c, %rb : tensor<2x4xf32>
    %ng_1 = hlo.multiply %n, %gb : tensor<2x4xf32>
    hlo.return %ng_1 : tensor<2x4xf32>
  }) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %w = hlo.constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00], [7.000000e+00, 8.000000e+00]]> : tensor<4x2xf32>
  %d = hlo.dot %ng, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  func.return %d : tensor<2x2xf32>
}
