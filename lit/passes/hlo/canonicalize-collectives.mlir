// RUN: neuron-opt %s -p hlo-canonicalize,hlo-dce | filecheck %s

// Collectives in groups of one device return their operands.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    %{{.*}} = hlo.tuple %x, %y
// CHECK-NEXT:    %{{.*}} = hlo.add %x, %x
// CHECK-NEXT:    %{{.*}} = hlo.tuple
// CHECK-NEXT:    func.return
func.func @alone(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tuple<tensor<4xf32>, tuple<tensor<4xf32>, tensor<2xf32>>> {
  %0 = hlo.all_reduce %x replica_groups = [array<i64: 0>, array<i64: 1>] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : tensor<4xf32>
  %1 = hlo.all_gather %x replica_groups = [array<i64: 0>], dimension = 0 : tensor<4xf32>
  %2 = hlo.all_reduce %x, %y replica_groups = [array<i64: 0>] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  %3 = hlo.add %0, %1 : tensor<4xf32>
  %4 = hlo.tuple %3, %2 : (tensor<4xf32>, tuple<tensor<4xf32>, tensor<2xf32>>) -> tuple<tensor<4xf32>, tuple<tensor<4xf32>, tensor<2xf32>>>
  func.return %4 : tuple<tensor<4xf32>, tuple<tensor<4xf32>, tensor<2xf32>>>
}

// Groups of several devices, and groups that are not listed, stay.
// CHECK-LABEL: func.func @groups
// CHECK-NEXT:    hlo.all_gather
// CHECK-NEXT:    hlo.all_to_all
func.func @groups(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = hlo.all_gather %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tensor<8xf32>
  %1 = hlo.all_to_all %0 dimension = 0 : tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// The only device sends to itself, and has number 0.
// CHECK-LABEL: func.func @device
// CHECK-NEXT:    %{{.*}} = hlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[ZEROS:.*]] = hlo.broadcast
// CHECK-NEXT:    %[[ID:.*]] = hlo.constant dense<0> : tensor<ui32>
// CHECK-NEXT:    %{{.*}} = hlo.tuple %x, %[[ZEROS]], %[[ID]]
func.func @device(%x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>> {
  %0 = hlo.collective_permute %x source_target_pairs = [array<i64: 0, 0>] : tensor<4xf32>
  %1 = hlo.collective_permute %x source_target_pairs = [] : tensor<4xf32>
  %2 = hlo.partition_id : tensor<ui32>
  %3 = hlo.tuple %0, %1, %2 : (tensor<4xf32>, tensor<4xf32>, tensor<ui32>) -> tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>
  func.return %3 : tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>
}
