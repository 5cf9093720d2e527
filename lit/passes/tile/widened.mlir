// RUN: neuron-opt %s -p 'tile-fuse{target=trn1},tile-assign-layouts{target=trn1},lower-tile-to-nc{target=trn1},nc-dce' | filecheck %s

builtin.module {
  // Engines widen what they read: the digits of a value are subtracted from it, and added up, as they are.
  // CHECK: nc.activation (%[[D:.*]][0:128 | 96:1 | 0], none) = (%[[X:x_tile]][0:128 | 96:1 | 0], none, none) {func = "copy", scale = 0.998046875, bias = 0.000000e+00}
  // CHECK-NOT: func = "copy"
  // CHECK-NOT: nc.tensor_copy
  // CHECK: nc.tensor_tensor ({{.*}}) = (%[[X]][0:128 | 96:1 | 0], %[[D]][0:128 | 96:1 | 0]) {op = "subtract"}
  // CHECK: nc.tensor_reduce ({{.*}}) = (%[[D]][0:128 | 96:1 | 0]) {op = "add"
  // CHECK: nc.return
  func.func @main(%x: tensor<128x96xf32>) -> (tensor<128x96xbf16>, tensor<128x96xf32>, tensor<128xf32>) attributes {hlo.entry} {
    %c = hlo.constant dense<0.998046875> : tensor<f32>
    %k = hlo.broadcast %c dimensions = [] : (tensor<f32>) -> tensor<128x96xf32>
    %s = hlo.multiply %x, %k : tensor<128x96xf32>
    %d = hlo.convert %s : (tensor<128x96xf32>) -> tensor<128x96xbf16>
    %w = hlo.convert %d : (tensor<128x96xbf16>) -> tensor<128x96xf32>
    %r = hlo.subtract %x, %w : tensor<128x96xf32>
    %z = hlo.constant dense<0.0> : tensor<f32>
    %t = hlo.reduce %w, %z dimensions = [1] ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %n = hlo.add %p, %q : tensor<f32>
      hlo.return %n : tensor<f32>
    }) : (tensor<128x96xf32>, tensor<f32>) -> tensor<128xf32>
    func.return %d, %r, %t : tensor<128x96xbf16>, tensor<128x96xf32>, tensor<128xf32>
  }
}
