// RUN: neuron-opt %s | neuron-opt | filecheck %s

func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @flow(%x: tensor<4xf32>, %p: tensor<i1>, %n: tensor<i32>) -> tensor<4xf32> {
  // CHECK: hlo.call %x callee = @double : tensor<4xf32>
  %0 = hlo.call %x callee = @double : tensor<4xf32>
  // CHECK: hlo.tuple %x, %n : (tensor<4xf32>, tensor<i32>) -> tuple<tensor<4xf32>, tensor<i32>>
  %1 = hlo.tuple %x, %n : (tensor<4xf32>, tensor<i32>) -> tuple<tensor<4xf32>, tensor<i32>>
  // CHECK: hlo.get_tuple_element %{{.*}} index = 0 : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
  %2 = hlo.get_tuple_element %1 index = 0 : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
  // CHECK: hlo.while %n trip_count = 3 ({
  %3 = hlo.while %n trip_count = 3 ({
  ^bb0(%a: tensor<i32>):
    %limit = hlo.constant dense<3> : tensor<i32>
    %lt = hlo.compare %a, %limit direction = LT : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %lt : tensor<i1>
  }, {
  ^bb0(%b: tensor<i32>):
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %b, %one : tensor<i32>
    hlo.return %next : tensor<i32>
  }) : tensor<i32>
  // CHECK: hlo.conditional %p, %x, %x ({
  %4 = hlo.conditional %p, %x, %x ({
  ^bb0(%c: tensor<4xf32>):
    %neg = hlo.negate %c : tensor<4xf32>
    hlo.return %neg : tensor<4xf32>
  }, {
  ^bb0(%d: tensor<4xf32>):
    hlo.return %d : tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: hlo.fusion %x kind = kLoop ({
  %5 = hlo.fusion %x kind = kLoop ({
  ^bb0(%e: tensor<4xf32>):
    %abs = hlo.abs %e : tensor<4xf32>
    hlo.return %abs : tensor<4xf32>
  }) : tensor<4xf32>
  // CHECK: hlo.composite %x kind = silu ({
  %6 = hlo.composite %x kind = silu ({
  ^bb0(%g: tensor<4xf32>):
    %gate = hlo.logistic %g : tensor<4xf32>
    %silu = hlo.multiply %g, %gate : tensor<4xf32>
    hlo.return %silu : tensor<4xf32>
  }) : tensor<4xf32>
  // CHECK: hlo.composite %x kind = softmax, params = {axis = 0 : i64} ({
  %7 = hlo.composite %x kind = softmax, params = {axis = 0 : i64} ({
  ^bb0(%h: tensor<4xf32>):
    hlo.return %h : tensor<4xf32>
  }) : tensor<4xf32>
  // CHECK: hlo.custom_call %x call_target_name = "xla.sdy.Global" : tensor<4xf32>
  %8 = hlo.custom_call %x call_target_name = "xla.sdy.Global" : tensor<4xf32>
  // CHECK: hlo.optimization_barrier %x : tensor<4xf32>
  %9 = hlo.optimization_barrier %x : tensor<4xf32>
  // CHECK: hlo.after_all : !hlo.token
  %10 = hlo.after_all : () -> !hlo.token
  // CHECK: hlo.add_dependency %x, %{{.*}} : (tensor<4xf32>, !hlo.token) -> tensor<4xf32>
  %11 = hlo.add_dependency %x, %10 : (tensor<4xf32>, !hlo.token) -> tensor<4xf32>
  // CHECK: hlo.rng %{{.*}}, %{{.*}} distribution = rng_uniform
  %lo = hlo.constant dense<0.0> : tensor<f32>
  %12 = hlo.rng %lo, %lo distribution = rng_uniform : (tensor<f32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: hlo.all_reduce %x replica_groups = [array<i64: 0, 1>], channel_id = 1 ({
  %13 = hlo.all_reduce %x replica_groups = [array<i64: 0, 1>], channel_id = 1 ({
  ^bb0(%r: tensor<f32>, %s: tensor<f32>):
    %sum = hlo.add %r, %s : tensor<f32>
    hlo.return %sum : tensor<f32>
  }) : tensor<4xf32>
  // CHECK: hlo.all_gather %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tensor<8xf32>
  %14 = hlo.all_gather %x replica_groups = [array<i64: 0, 1>], dimension = 0 : (tensor<4xf32>) -> tensor<8xf32>
  // CHECK: hlo.partition_id : tensor<ui32>
  %15 = hlo.partition_id : tensor<ui32>
  func.return %0 : tensor<4xf32>
}
