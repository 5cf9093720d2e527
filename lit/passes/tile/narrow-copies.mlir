// RUN: neuron-opt %s -p 'tile-assign-layouts{target=trn1}' | filecheck %s

// The fp32 argument is loaded as bf16: 50,176 rows of it fit on 64 partitions, which 200 KB a
// partition would not, so the dot has a layout.

// CHECK:     tile.convert_layout %x_1 : {{.*}} to tensor<50176x64xbf16, #tile.layout<sbuf, [128f1, 392f128], [64p1]>>
// CHECK:     hlo.dot
// CHECK-NOT: tile.whole
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<50176x64xf32>, %w: tensor<64x64xf32>) -> tensor<50176x64xf32> {
    %a = hlo.convert %x : (tensor<50176x64xf32>) -> tensor<50176x64xbf16>
    %b = hlo.convert %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %d = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<50176x64xbf16>, tensor<64x64xbf16>) -> tensor<50176x64xf32>
    func.return %d : tensor<50176x64xf32>
  }
}
