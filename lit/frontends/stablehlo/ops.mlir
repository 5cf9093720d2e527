// RUN: neuron-opt %s -f stablehlo | filecheck %s
// RUN: neuron-opt %s | filecheck %s

// Pretty and generic forms, as JAX prints them, become the ops of HLO text.

module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  // CHECK: func.func @main(%x: tensor<4x8xf32> {hlo.name = "x"}, %arg1: tensor<8x3xf32> {hlo.name = "arg1"}) -> tuple<
  func.func public @main(%arg0: tensor<4x8xf32> loc("x"), %arg1: tensor<8x3xf32>) -> (tensor<4x3xf32> {jax.result_info = "result[0]"}, tensor<4xf32>) {
    // CHECK: hlo.dot %{{.*}}, %{{.*}} lhs_contracting_dims = [1], rhs_contracting_dims = [0] {{.*}}op_name = "jit(f)/dot_general"{{.*}}source_file = "model.py"{{.*}}source_line = 7
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32> loc(#loc2)
    // CHECK: hlo.dot %{{.*}} operand_precision = ["highest", "highest"]
    %1 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    // CHECK: hlo.compare %{{.*}} direction = LT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %3 = stablehlo.select %2, %0, %1 : tensor<4x3xi1>, tensor<4x3xf32>
    // CHECK: hlo.constant dense<"0x000080FF"> : tensor<f32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    // CHECK: hlo.reduce %{{.*}}, %{{.*}} dimensions = [1]
    // CHECK: hlo.maximum
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    // A dimension of size 1 is dropped before it is broadcast.
    // CHECK: hlo.broadcast %{{.*}} dimensions = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    // CHECK: hlo.reshape %{{.*}} : (tensor<4x1xf32>) -> tensor<4xf32>
    // CHECK-NEXT: hlo.broadcast %{{.*}} dimensions = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3xf32>
    // CHECK: hlo.subtract
    %7 = stablehlo.subtract %3, %6 : tensor<4x3xf32>
    // CHECK: hlo.asinh
    %8 = chlo.asinh %7 : tensor<4x3xf32> -> tensor<4x3xf32>
    // CHECK: hlo.slice %{{.*}} start_indices = [0, 1], limit_indices = [4, 2], strides = [2, 1]
    %9 = stablehlo.slice %8 [0:4:2, 1:2] : (tensor<4x3xf32>) -> tensor<2x1xf32>
    // CHECK: hlo.pad %{{.*}} edge_padding_low = [1, 0], edge_padding_high = [1, 2], interior_padding = [0, 0]
    %10 = stablehlo.pad %9, %cst, low = [1, 0], high = [1, 2], interior = [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<4x3xf32>
    // CHECK: hlo.tuple
    return %10, %4 : tensor<4x3xf32>, tensor<4xf32>
  }
}
#loc1 = loc("model.py":7:3 to :9)
#loc2 = loc("jit(f)/dot_general"(#loc3))
#loc3 = loc(callsite("f"(#loc1) at "<module>"(#loc4)))
#loc4 = loc("main.py":30:1)
