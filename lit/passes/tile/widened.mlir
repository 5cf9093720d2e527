// RUN: neuron-opt %s -p 'tile-fuse{target=trn1},tile-assign-layouts{target=trn1},lower-tile-to-nc{target=trn1},nc-dce' | filecheck %s

builtin.module {
  // Engines widen what they read: the digits of a value are subtracted from it as they are.
  // CHECK: nc.activation (%[[D:.*]][0:128 | 96:1 | 0], none) = (%[[X:x_tile]][0:128 | 96:1 | 0], none, none) {func = "copy", scale = 0.998046875, bias = 0.000000e+00}
  // CHECK-NEXT: %[[R:.*]] = nc.alloc
  // CHECK-NEXT: nc.tensor_tensor (%[[R]][0:128 | 96:1 | 0]) = (%[[X]][0:128 | 96:1 | 0], %[[D]][0:128 | 96:1 | 0]) {op = "subtract"}
  // CHECK-NOT: nc.tensor_copy
  // CHECK: nc.return
  func.func @main(%x: tensor<128x96xf32>) -> (tensor<128x96xbf16>, tensor<128x96xf32>) attributes {hlo.entry} {
    %c = hlo.constant dense<0.998046875> : tensor<f32>
    %k = hlo.broadcast %c dimensions = [] : (tensor<f32>) -> tensor<128x96xf32>
    %s = hlo.multiply %x, %k : tensor<128x96xf32>
    %d = hlo.convert %s : (tensor<128x96xf32>) -> tensor<128x96xbf16>
    %w = hlo.convert %d : (tensor<128x96xbf16>) -> tensor<128x96xf32>
    %r = hlo.subtract %x, %w : tensor<128x96xf32>
    func.return %d, %r : tensor<128x96xbf16>, tensor<128x96xf32>
  }
}
