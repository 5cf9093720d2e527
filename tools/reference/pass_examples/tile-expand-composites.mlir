// neuron-opt -p tile-expand-composites
func.func @main(%s: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %p = hlo.composite %s kind = softmax, params = {axes = array<i64: 1>, axis = 1 : i64} ({
  ^bb0(%0: tensor<128x512xf32>):
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %low = hlo.constant dense<"0x000080FF"> : tensor<f32>
    %m = hlo.reduce %0, %low dimensions = [1] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.maximum %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<128x512xf32>, tensor<f32>) -> tensor<128xf32>
    %mb = hlo.broadcast %m dimensions = [0] : (tensor<128xf32>) -> tensor<128x512xf32>
    %d = hlo.subtract %0, %mb : tensor<128x512xf32>
    %x = hlo.exponential %d : tensor<128x512xf32>
    %t = hlo.reduce %x, %zero dimensions = [1] ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = hlo.add %a, %b : tensor<f32>
      hlo.return %r : tensor<f32>
    }) : (tensor<128x512xf32>, tensor<f32>) -> tensor<128xf32>
    %tb = hlo.broadcast %t dimensions = [0] : (tensor<128xf32>) -> tensor<128x512xf32>
    %p_1 = hlo.divide %x, %tb : tensor<128x512xf32>
    hlo.return %p_1 : tensor<128x512xf32>
  }) : tensor<128x512xf32>
  func.return %p : tensor<128x512xf32>
}
