// RUN: neuron-opt %s | filecheck %s

// A value that a region uses from outside becomes an element of the region's argument tuple.
// Constants are built again inside.

module @jit_g {
  // CHECK-LABEL: func.func @main
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<5> : tensor<i32>
    // CHECK: hlo.tuple %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: hlo.while %{{.*}} ({
    // CHECK: hlo.constant dense<5> : tensor<i32>
    // CHECK: hlo.compare
    // CHECK: }, {
    // CHECK: hlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
    // CHECK: hlo.tuple %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: }) : tuple<tensor<i32>, tensor<4xf32>, tensor<4xf32>>
    %0:2 = stablehlo.while(%i = %arg0, %x = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %c_0 : tensor<i32>
      %2 = stablehlo.add %x, %arg2 : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
    // CHECK: hlo.conditional %{{.*}}, %{{.*}}, %{{.*}} ({
    // CHECK: hlo.call %{{.*}} callee = @double : tensor<4xf32>
    // CHECK: }, {
    // CHECK: }) : (tensor<i32>, tensor<4xf32>, tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    %3 = "stablehlo.case"(%arg0) ({
      %4 = func.call @double(%arg2) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }, {
      %4 = stablehlo.multiply %arg1, %0#1 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %0#1, %3 : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK-LABEL: func.func private @double
  func.func private @double(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // CHECK-NOT: @unused
  func.func private @unused(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}
