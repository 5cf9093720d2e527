// RUN: neuron-opt %s -p 'tile-assign-layouts{target=trn1}' | filecheck %s

builtin.module {
  // The rows of a product are stored without the last one of each batch, which padding added: a transpose leaves the
  // elements of a row one behind the other, as in HBM.
  // CHECK: %[[P:.*]] = hlo.dot
  // CHECK: %[[T:.*]] = tile.convert_layout %[[P]] : {{.*}} to tensor<16x198x32xf32, #tile.layout<sbuf, [16p1], [198f32], [32f1]>>
  // CHECK: %[[H:.*]] = tile.convert_layout %[[T]] : {{.*}} to tensor<16x198x32xf32>
  // CHECK: hlo.slice %[[H]]
  func.func @main(%p: tensor<16x198x77xbf16>, %v: tensor<16x77x32xbf16>) -> tensor<16x197x32xf32> attributes {hlo.entry} {
    %r = hlo.dot %p, %v lhs_batch_dims = [0], rhs_batch_dims = [0], lhs_contracting_dims = [2], rhs_contracting_dims = [1] : (tensor<16x198x77xbf16>, tensor<16x77x32xbf16>) -> tensor<16x198x32xf32>
    %s = hlo.slice %r start_indices = [0, 0, 0], limit_indices = [16, 197, 32], strides = [1, 1, 1] {tile.whole} : (tensor<16x198x32xf32>) -> tensor<16x197x32xf32>
    func.return %s : tensor<16x197x32xf32>
  }
}
