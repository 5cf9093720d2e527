// RUN: neuron-opt %s -p hlo-canonicalize | filecheck %s

// A module for two partitions keeps what depends on the partition.
// CHECK: hlo.collective_permute
// CHECK: hlo.partition_id
module attributes {"hlo.num_partitions" = "2"} {
  func.func @main(%x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<ui32>> {
    %0 = hlo.collective_permute %x source_target_pairs = [array<i64: 0, 0>] : tensor<4xf32>
    %1 = hlo.partition_id : tensor<ui32>
    %2 = hlo.tuple %0, %1 : (tensor<4xf32>, tensor<ui32>) -> tuple<tensor<4xf32>, tensor<ui32>>
    func.return %2 : tuple<tensor<4xf32>, tensor<ui32>>
  }
}
