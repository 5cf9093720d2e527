// RUN: neuron-opt %s -p '@trn1:hlo,@trn1:tiled' | filecheck %s
// RUN: neuron-opt %s -p '@trn1:hlo,@trn1:tiled,@trn1:tiled-virtual' --mlir-print-debuginfo | filecheck %s --check-prefix=NC
// RUN: neuron-opt %s --run
// RUN: neuron-opt %s --run=trn1

// Between two products it is in their loop, and rows lie on the free axis.

// CHECK-LABEL: func.func @main
// CHECK: scf.for
// CHECK: hlo.dot
// CHECK: rows.unit %{{.*}} epsilon 1.000000e-06 : f32 : tensor<512x1024xf32, #tile.layout<sbuf, [4f1024, 128p1], [1024f1]>>
// CHECK: hlo.dot
// CHECK: tensor.insert_slice

// NC-LABEL: nc.func "main"
// NC: scf.for
// NC: nc.activation {{.*}}func = "square"{{.*}} loc([[UNIT:#loc[0-9]+]])
// NC: nc.activation {{.*}}func = "rsqrt"
// NC: nc.tensor_scalar {{.*}}op0 = "multiply"{{.*}} loc([[UNIT]])
// NC: [[UNIT]] = loc(fused<{opcode = "rows.unit"}>
func.func @main(%x: tensor<4096x256xf32>, %v: tensor<256x1024xf32>, %w: tensor<1024x256xf32>) -> tensor<4096x256xf32> {
  %a = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4096x256xf32>, tensor<256x1024xf32>) -> tensor<4096x1024xf32>
  %b = rows.unit %a epsilon 1.0e-6 : f32 : tensor<4096x1024xf32>
  %c = hlo.dot %b, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4096x1024xf32>, tensor<1024x256xf32>) -> tensor<4096x256xf32>
  func.return %c : tensor<4096x256xf32>
}

func.func @three_four_five() {
  %x = hlo.constant dense<[[3.0, 4.0], [0.0, -2.0]]> : tensor<2x2xf32>
  %y = rows.unit %x epsilon 0.0 : f32 : tensor<2x2xf32>
  %expected = hlo.constant dense<[[0.6, 0.8], [0.0, -1.0]]> : tensor<2x2xf32>
  check.expect_close %y, %expected : tensor<2x2xf32>
  func.return
}
