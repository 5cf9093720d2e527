// RUN: neuron-opt %s -p 'tile-assign-layouts{target=trn1}' | filecheck %s

// The result of a loop, whose bounds are no tensors, is read in slices by another loop.

// CHECK:      %[[R:.*]] = scf.for
// CHECK-SAME: -> (tensor<64x1024xf32, #tile.layout<sbuf, [64p1], [1024f1]>>)
// CHECK:      scf.for
// CHECK-NEXT: tensor.extract_slice %[[R]][0, %
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %e = tile.empty "sbuf" : tensor<64x1024xf32>
    %r = scf.for %i = %c0 to %c1024 step %c256 iter_args(%a = %e) -> (tensor<64x1024xf32>) {
      %t = tensor.extract_slice %x[0, %i] [64, 256] [1, 1] : tensor<64x1024xf32> to tensor<64x256xf32>
      %n = hlo.exponential %t : tensor<64x256xf32>
      %b = tensor.insert_slice %n into %a[0, %i] [64, 256] [1, 1] : tensor<64x256xf32> into tensor<64x1024xf32>
      scf.yield %b : tensor<64x1024xf32>
    }
    %o = tile.empty "hbm" : tensor<64x1024xf32>
    %s = scf.for %j = %c0 to %c1024 step %c256 iter_args(%a = %o) -> (tensor<64x1024xf32>) {
      %t = tensor.extract_slice %r[0, %j] [64, 256] [1, 1] : tensor<64x1024xf32> to tensor<64x256xf32>
      %n = hlo.negate %t : tensor<64x256xf32>
      %b = tensor.insert_slice %n into %a[0, %j] [64, 256] [1, 1] : tensor<64x256xf32> into tensor<64x1024xf32>
      scf.yield %b : tensor<64x1024xf32>
    }
    func.return %s : tensor<64x1024xf32>
  }
}
