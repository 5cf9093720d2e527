// RUN: neuron-opt %s | neuron-opt | filecheck %s

// Exchanges between replicas, transfers to and from the host, and pairs of start and done.

func.func @exchange(%x: tensor<4xf32>, %m: tensor<4x4xf32>) {
  // CHECK: %replica_id = hlo.replica_id : tensor<ui32>
  %replica_id = hlo.replica_id : tensor<ui32>
  // CHECK: %all_reduce_start = hlo.all_reduce_start %x replica_groups = [array<i64: 0, 1>] ({
  %all_reduce_start = hlo.all_reduce_start %x replica_groups = [array<i64: 0, 1>] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : tensor<4xf32>
  // CHECK: %all_reduce_done = hlo.all_reduce_done %all_reduce_start : tensor<4xf32>
  %all_reduce_done = hlo.all_reduce_done %all_reduce_start : tensor<4xf32>
  // CHECK: %reduce_scatter = hlo.reduce_scatter %x replica_groups = [array<i64: 0, 1>], dimension = 0 ({
  %reduce_scatter = hlo.reduce_scatter %x replica_groups = [array<i64: 0, 1>], dimension = 0 ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = hlo.add %a, %b : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: %all_gather_start = hlo.all_gather_start %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<8xf32>>
  %all_gather_start = hlo.all_gather_start %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<8xf32>>
  // CHECK: %all_gather_done = hlo.all_gather_done %all_gather_start : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<8xf32>
  %all_gather_done = hlo.all_gather_done %all_gather_start : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<8xf32>
  // CHECK: %all_to_all = hlo.all_to_all %m replica_groups = [array<i64: 0, 1>], dimension = 0 : tensor<4x4xf32>
  %all_to_all = hlo.all_to_all %m replica_groups = [array<i64: 0, 1>], dimension = 0 : tensor<4x4xf32>
  // CHECK: %collective_broadcast = hlo.collective_broadcast %x replica_groups = [array<i64: 0, 1>] : tensor<4xf32>
  %collective_broadcast = hlo.collective_broadcast %x replica_groups = [array<i64: 0, 1>] : tensor<4xf32>
  // CHECK: %collective_permute = hlo.collective_permute %x source_target_pairs = [array<i64: 0, 1>, array<i64: 1, 0>] : tensor<4xf32>
  %collective_permute = hlo.collective_permute %x source_target_pairs = [array<i64: 0, 1>, array<i64: 1, 0>] : tensor<4xf32>
  // CHECK: %collective_permute_start = hlo.collective_permute_start %x source_target_pairs = [array<i64: 0, 1>] : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %collective_permute_start = hlo.collective_permute_start %x source_target_pairs = [array<i64: 0, 1>] : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  // CHECK: %collective_permute_done = hlo.collective_permute_done %collective_permute_start : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %collective_permute_done = hlo.collective_permute_done %collective_permute_start : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  func.return
}

func.func @host(%x: tensor<4xf32>) {
  // CHECK: %token = hlo.after_all : !hlo.token
  %token = hlo.after_all : !hlo.token
  // CHECK: %send = hlo.send %x, %token channel_id = 1 : (tensor<4xf32>, !hlo.token) -> tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>
  %send = hlo.send %x, %token channel_id = 1 : (tensor<4xf32>, !hlo.token) -> tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>
  // CHECK: %send_done = hlo.send_done %send channel_id = 1 : (tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>) -> !hlo.token
  %send_done = hlo.send_done %send channel_id = 1 : (tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>) -> !hlo.token
  // CHECK: %recv = hlo.recv %token channel_id = 2 : (!hlo.token) -> tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>
  %recv = hlo.recv %token channel_id = 2 : (!hlo.token) -> tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>
  // CHECK: %recv_done = hlo.recv_done %recv channel_id = 2 : (tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>) -> tuple<tensor<4xf32>, !hlo.token>
  %recv_done = hlo.recv_done %recv channel_id = 2 : (tuple<tensor<4xf32>, tensor<ui32>, !hlo.token>) -> tuple<tensor<4xf32>, !hlo.token>
  // CHECK: %infeed = hlo.infeed %token infeed_config = "" : (!hlo.token) -> tuple<tensor<4xf32>, !hlo.token>
  %infeed = hlo.infeed %token infeed_config = "" : (!hlo.token) -> tuple<tensor<4xf32>, !hlo.token>
  // CHECK: %outfeed = hlo.outfeed %x, %token : (tensor<4xf32>, !hlo.token) -> !hlo.token
  %outfeed = hlo.outfeed %x, %token : (tensor<4xf32>, !hlo.token) -> !hlo.token
  func.return
}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @asynchronous(%x: tensor<4xf32>) {
  // CHECK: %copy_start = hlo.copy_start %x : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>
  %copy_start = hlo.copy_start %x : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>
  // CHECK: %copy_done = hlo.copy_done %copy_start : (tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>) -> tensor<4xf32>
  %copy_done = hlo.copy_done %copy_start : (tuple<tensor<4xf32>, tensor<4xf32>, tensor<ui32>>) -> tensor<4xf32>
  // CHECK: %async_start = hlo.async_start %x callee = @twice : (tensor<4xf32>) -> tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>
  %async_start = hlo.async_start %x callee = @twice : (tensor<4xf32>) -> tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>
  // CHECK: %async_update = hlo.async_update %async_start : tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>
  %async_update = hlo.async_update %async_start : tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>
  // CHECK: %async_done = hlo.async_done %async_update : (tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>) -> tensor<4xf32>
  %async_done = hlo.async_done %async_update : (tuple<tuple<tensor<4xf32>>, tensor<4xf32>, tensor<ui32>>) -> tensor<4xf32>
  func.return
}
