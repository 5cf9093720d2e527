// RUN: neuron-opt %s -p 'tile-assign-layouts{target=trn1}' | filecheck %s

// The result of a loop, whose operands include its bounds, is read in slices: tiles of 128 columns
// divide its layout, so it stays on the chip.

// CHECK:      %[[S:.*]] = scf.for {{.*}} -> (tensor<1x768xf32, #tile.layout<sbuf, [], [768f1]>>)
// CHECK:      scf.for
// CHECK-NEXT: tensor.extract_slice %[[S]][0, %
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<1x768xf32>) -> tensor<1x768xf32> {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c768 = arith.constant 768 : index
    %p = tile.empty "sbuf" : tensor<1x768xf32>
    %s = scf.for %i = %c0 to %c768 step %c256 iter_args(%a = %p) -> (tensor<1x768xf32>) {
      %t = tensor.extract_slice %x[0, %i] [1, 256] [1, 1] : tensor<1x768xf32> to tensor<1x256xf32>
      %e = hlo.exponential %t : tensor<1x256xf32>
      %b = tensor.insert_slice %e into %a[0, %i] [1, 256] [1, 1] : tensor<1x256xf32> into tensor<1x768xf32>
      scf.yield %b : tensor<1x768xf32>
    }
    %o = tile.empty "hbm" : tensor<1x768xf32>
    %r = scf.for %i = %c0 to %c768 step %c128 iter_args(%a = %o) -> (tensor<1x768xf32>) {
      %t = tensor.extract_slice %s[0, %i] [1, 128] [1, 1] : tensor<1x768xf32> to tensor<1x128xf32>
      %e = hlo.negate %t : tensor<1x128xf32>
      %b = tensor.insert_slice %e into %a[0, %i] [1, 128] [1, 1] : tensor<1x128xf32> into tensor<1x768xf32>
      scf.yield %b : tensor<1x768xf32>
    }
    func.return %r : tensor<1x768xf32>
  }
}
