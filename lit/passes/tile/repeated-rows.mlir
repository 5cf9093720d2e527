// RUN: neuron-opt %s -p 'lower-tile-to-nc{target=trn1}' | filecheck %s

// %e stands on all partitions, and its sum on one: ACT, which would write the sum to all of them,
// leaves it to DVE. A constant mask of such a row is no diagonal of partitions.

// CHECK:       nc.activation (%[[E:[a-z_0-9]*]][0:128 | 127:1 | 0], none)
// CHECK:       nc.tensor_reduce (%{{.*}}[0:1 | 1:1 | 0]) = (%[[E]][0:1 | 127:1 | 0])
// CHECK-NOT:   nc.affine_select
// CHECK:       nc.copy_predicated (%{{.*}}[0:128 |
module attributes {nc.machine = "trn1", neuronir.phase = "tiled"} {
  func.func @main(%x: tensor<1x127xf32>, %y: tensor<1x127xf32>) -> (tensor<1x127xf32>, tensor<1x127xf32>) {
    %zero = hlo.constant dense<0.000000e+00> : tensor<f32>
    %a = tile.convert_layout %x : tensor<1x127xf32> to tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>
    %e = hlo.exponential %a : tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>
    %s = hlo.reduce %e, %zero dimensions = [1] ({
    ^bb0(%0: tensor<f32>, %1: tensor<f32>):
      %2 = hlo.add %0, %1 : tensor<f32>
      hlo.return %2 : tensor<f32>
    }) : (tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>, tensor<f32>) -> tensor<1xf32, #tile.layout<sbuf, []>>
    %t = hlo.reshape %s : (tensor<1xf32, #tile.layout<sbuf, []>>) -> tensor<f32, #tile.layout<sbuf, []>>
    %b = hlo.broadcast %t dimensions = [] : (tensor<f32, #tile.layout<sbuf, []>>) -> tensor<1x127xf32, #tile.layout<sbuf, [], [127r]>>
    %d = hlo.divide %e, %b : (tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>, tensor<1x127xf32, #tile.layout<sbuf, [], [127r]>>) -> tensor<1x127xf32, #tile.layout<sbuf, [], [127f1]>>
    %r = tile.convert_layout %d : tensor<1x127xf32, #tile.layout<sbuf, [], [127f1]>> to tensor<1x127xf32>
    %m = hlo.constant dense<true> : tensor<1x127xi1>
    %k = tile.convert_layout %m : tensor<1x127xi1> to tensor<1x127xi1, #tile.layout<sbuf, [], [127f1] x [128p1]>>
    %none = hlo.constant dense<0.000000e+00> : tensor<f32>
    %f = hlo.broadcast %none dimensions = [] : (tensor<f32>) -> tensor<1x127xf32>
    %c = tile.convert_layout %y : tensor<1x127xf32> to tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>
    %g = hlo.select %k, %c, %f : (tensor<1x127xi1, #tile.layout<sbuf, [], [127f1] x [128p1]>>, tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>, tensor<1x127xf32>) -> tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>>
    %q = tile.convert_layout %g : tensor<1x127xf32, #tile.layout<sbuf, [], [127f1] x [128p1]>> to tensor<1x127xf32>
    func.return %r, %q : tensor<1x127xf32>, tensor<1x127xf32>
  }
}
