// RUN: neuron-opt %s -p lower-tile-to-nc | filecheck %s

// A value that PE transposes is read from PSUM by its only reader: no instruction copies it to SBUF first.

// CHECK:      nc.transpose (%[[P:.*]][0:64 | 128:1 | 0])
// CHECK-NEXT: nc.tensor_tensor {{.*}} = (%[[P]][0:64 | 128:1 | 0], %{{.*}}) {op = "subtract"}
// CHECK-NOT:  nc.tensor_copy
// CHECK:      nc.matmul
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<128x64xf32>, %y: tensor<128x64xf32>) -> tensor<128x128xf32> {
    %0 = tile.convert_layout %x : tensor<128x64xf32> to tensor<128x64xf32, #tile.layout<sbuf, [128p1], [64f1]>>
    %1 = tile.convert_layout %0 : tensor<128x64xf32, #tile.layout<sbuf, [128p1], [64f1]>> to tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>
    %2 = tile.convert_layout %y : tensor<128x64xf32> to tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>
    %3 = hlo.subtract %1, %2 : (tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>, tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>) -> tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>
    %4 = hlo.dot %3, %3 lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [1] : (tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>, tensor<128x64xf32, #tile.layout<sbuf, [128f1], [64p1]>>) -> tensor<128x128xf32, #tile.layout<sbuf, [128p1], [128f1]>>
    %5 = tile.convert_layout %4 : tensor<128x128xf32, #tile.layout<sbuf, [128p1], [128f1]>> to tensor<128x128xf32>
    func.return %5 : tensor<128x128xf32>
  }
}
