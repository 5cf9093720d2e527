// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p 'tile-fuse{target=trn1},tile-assign-layouts{target=trn1}' | filecheck %s --check-prefix=LAYOUT
// RUN: neuron-opt %s -p 'tile-fuse{target=trn1},tile-assign-layouts{target=trn1},lower-tile-to-nc{target=trn1}' | filecheck %s --check-prefix=NC

builtin.module {
  // CHECK: tile.scan "linear" %a, %b, %c : (tensor<256x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<256x64xf32>
  // CHECK: tile.scan "maximum" %{{.*}} backwards : (tensor<256x64xf32>) -> tensor<256x64xf32>

  // Rows lie on partitions, the dimension along which it runs on the free axis.
  // LAYOUT: tile.scan "linear" {{.*}} -> tensor<256x64xf32, #tile.layout<sbuf, [128p1, 2f64], [64f1]>>

  // One instruction for each row of a partition; from the end with strides of the other sign. What begins with its
  // first element has that copied, for all rows at once.
  // NC: nc.tensor_tensor_scan (%[[H:.*]][0:128 | 64:1 | 0]) = ({{.*}}, {{.*}}, %[[C:.*]][0:128 | 1:1 | 0]) {op0 = "multiply", op1 = "add"}
  // NC: nc.tensor_tensor_scan (%[[H]][0:128 | 64:1 | 64]) = ({{.*}}, {{.*}}, %[[C]][0:128 | 1:1 | 1])
  // NC: (%[[M:.*]][0:128 | 2:64 | 63]{{.*}} = (%[[H]][0:128 | 2:64 | 63]
  // NC: nc.tensor_tensor_scan (%[[M]][0:128 | 63:-1 | 62]) = (%[[H]][0:128 | 63:-1 | 62], %[[H]][0:128 | 63:-1 | 62], %[[M]][0:128 | 1:1 | 63]) {op0 = "max", op1 = "max"}
  func.func @main(%a: tensor<256x64xf32>, %b: tensor<256x64xf32>, %c: tensor<256xf32>) -> tensor<256x64xf32> attributes {hlo.entry} {
    %h = tile.scan "linear" %a, %b, %c : (tensor<256x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<256x64xf32>
    %m = tile.scan "maximum" %h backwards : (tensor<256x64xf32>) -> tensor<256x64xf32>
    func.return %m : tensor<256x64xf32>
  }
}
