// RUN: neuron-opt %s -p 'tile-assign-layouts{target=trn1}' | filecheck %s

// 29 partitions hold the row, in pieces that 1,733 columns divide, and no tile of 1,536: it is stored
// to HBM, from which a tile is loaded.

// CHECK:      %[[E:.*]] = hlo.exponential %{{.*}} : tensor<1x50257xf32, #tile.layout<sbuf, [], [29p1, 1733f1]>>
// CHECK:      %[[H:.*]] = tile.empty "hbm"
// CHECK:      %[[S:.*]] = tensor.insert_slice %[[E]] into %[[H]][0, 0] [1, 50257] [1, 1]
// CHECK:      scf.for
// CHECK-NEXT: tensor.extract_slice %[[S]][0, %
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<1x50257xf32>, %y: tensor<1x50257xf32>) -> tensor<1x49152xf32> {
    %c0 = arith.constant 0 : index
    %c1536 = arith.constant 1536 : index
    %c49152 = arith.constant 49152 : index
    %s = hlo.add %x, %y : tensor<1x50257xf32>
    %e = hlo.exponential %s : tensor<1x50257xf32>
    %o = tile.empty "hbm" : tensor<1x49152xf32>
    %r = scf.for %i = %c0 to %c49152 step %c1536 iter_args(%a = %o) -> (tensor<1x49152xf32>) {
      %t = tensor.extract_slice %e[0, %i] [1, 1536] [1, 1] : tensor<1x50257xf32> to tensor<1x1536xf32>
      %n = hlo.negate %t : tensor<1x1536xf32>
      %b = tensor.insert_slice %n into %a[0, %i] [1, 1536] [1, 1] : tensor<1x1536xf32> into tensor<1x49152xf32>
      scf.yield %b : tensor<1x49152xf32>
    }
    func.return %r : tensor<1x49152xf32>
  }
}
