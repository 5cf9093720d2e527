// RUN: neuron-opt %s -p hlo-canonicalize | filecheck %s

// The parts of a rotation have no common bits: each is combined by xor.
// CHECK-LABEL: func.func @rotation
// CHECK:       %[[L:.*]] = hlo.shift_left %v
// CHECK:       %[[R:.*]] = hlo.shift_right_logical %v
// CHECK:       %[[A:.*]] = hlo.xor %[[L]], %x
// CHECK:       hlo.xor %[[R]], %[[A]]
// CHECK-NOT:   hlo.or
func.func @rotation(%v: tensor<8xui32>, %x: tensor<8xui32>) -> tensor<8xui32> {
  %n = hlo.constant dense<13> : tensor<ui32>
  %m = hlo.constant dense<19> : tensor<ui32>
  %a = hlo.broadcast %n dimensions = [] : (tensor<ui32>) -> tensor<8xui32>
  %b = hlo.broadcast %m dimensions = [] : (tensor<ui32>) -> tensor<8xui32>
  %l = hlo.shift_left %v, %a : tensor<8xui32>
  %r = hlo.shift_right_logical %v, %b : tensor<8xui32>
  %o = hlo.or %l, %r : tensor<8xui32>
  %y = hlo.xor %x, %o : tensor<8xui32>
  func.return %y : tensor<8xui32>
}

// Other shifts may have common bits.
// CHECK-LABEL: func.func @overlap
// CHECK:       hlo.or
func.func @overlap(%v: tensor<8xui32>, %x: tensor<8xui32>) -> tensor<8xui32> {
  %n = hlo.constant dense<13> : tensor<ui32>
  %a = hlo.broadcast %n dimensions = [] : (tensor<ui32>) -> tensor<8xui32>
  %l = hlo.shift_left %v, %a : tensor<8xui32>
  %r = hlo.shift_right_logical %v, %a : tensor<8xui32>
  %o = hlo.or %l, %r : tensor<8xui32>
  %y = hlo.xor %x, %o : tensor<8xui32>
  func.return %y : tensor<8xui32>
}

// Scalars are added first; sums of floats keep their order.
// CHECK-LABEL: func.func @scalars
// CHECK:       %[[S:.*]] = hlo.add %k, %{{.*}} : tensor<ui32>
// CHECK:       %[[B:.*]] = hlo.broadcast %[[S]]
// CHECK:       hlo.add %x, %[[B]] : tensor<8xui32>
func.func @scalars(%x: tensor<8xui32>, %k: tensor<ui32>) -> tensor<8xui32> {
  %n = hlo.constant dense<3> : tensor<ui32>
  %a = hlo.broadcast %k dimensions = [] : (tensor<ui32>) -> tensor<8xui32>
  %b = hlo.broadcast %n dimensions = [] : (tensor<ui32>) -> tensor<8xui32>
  %y = hlo.add %x, %a : tensor<8xui32>
  %z = hlo.add %y, %b : tensor<8xui32>
  func.return %z : tensor<8xui32>
}

// CHECK-LABEL: func.func @floats
// CHECK-COUNT-2: hlo.add {{.*}} : tensor<8xf32>
func.func @floats(%x: tensor<8xf32>, %k: tensor<f32>, %l: tensor<f32>) -> tensor<8xf32> {
  %a = hlo.broadcast %k dimensions = [] : (tensor<f32>) -> tensor<8xf32>
  %b = hlo.broadcast %l dimensions = [] : (tensor<f32>) -> tensor<8xf32>
  %y = hlo.add %x, %a : tensor<8xf32>
  %z = hlo.add %y, %b : tensor<8xf32>
  func.return %z : tensor<8xf32>
}
