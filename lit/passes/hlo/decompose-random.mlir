// RUN: neuron-opt %s -p hlo-decompose --split-input-file | filecheck %s

// Philox: four words for each counter, by products of 16-bit halves.
// CHECK-LABEL: func.func @philox
// CHECK:       hlo.constant dense<8019> : tensor<ui32>
// CHECK:       hlo.multiply {{.*}} : tensor<2x8xui32>
// CHECK:       hlo.concatenate {{.*}} : ({{.*}}) -> tensor<2x8x4xui32>
// CHECK-NOT:   rng
func.func @philox(%s: tensor<4xui32>) -> tuple<tensor<4xui32>, tensor<2x32xui32>> {
  %r = hlo.rng_bit_generator %s algorithm = "rng_default" : (tensor<4xui32>) -> tuple<tensor<4xui32>, tensor<2x32xui32>>
  func.return %r : tuple<tensor<4xui32>, tensor<2x32xui32>>
}

// -----

// Threefry: two words for each counter, adjacent along the first even dimension.
// CHECK-LABEL: func.func @threefry
// CHECK:       hlo.constant dense<466688986> : tensor<ui32>
// CHECK:       hlo.shift_left {{.*}} : tensor<1x32xui32>
// CHECK:       hlo.concatenate {{.*}} : ({{.*}}) -> tensor<1x2x32xui32>
// CHECK-NOT:   rng
func.func @threefry(%s: tensor<4xui32>) -> tuple<tensor<4xui32>, tensor<2x32xui32>> {
  %r = hlo.rng_bit_generator %s algorithm = "rng_three_fry" : (tensor<4xui32>) -> tuple<tensor<4xui32>, tensor<2x32xui32>>
  func.return %r : tuple<tensor<4xui32>, tensor<2x32xui32>>
}

// -----

// A state of 64-bit integers is left for hlo-emulate-uint64.
// CHECK-LABEL: func.func @wide
// CHECK:       hlo.rng_bit_generator
func.func @wide(%s: tensor<2xui64>) -> tuple<tensor<2xui64>, tensor<4xui32>> {
  %r = hlo.rng_bit_generator %s algorithm = "rng_default" : (tensor<2xui64>) -> tuple<tensor<2xui64>, tensor<4xui32>>
  func.return %r : tuple<tensor<2xui64>, tensor<4xui32>>
}

// -----

// rng draws from a stream of its own: u32 bits become the mantissa of 1 to 2.
// CHECK-LABEL: func.func @uniform
// CHECK:       hlo.constant dense<1065353216> : tensor<ui32>
// CHECK:       hlo.bitcast_convert {{.*}} -> tensor<8xf32>
// CHECK-NOT:   hlo.rng
func.func @uniform(%a: tensor<f32>, %b: tensor<f32>) -> tensor<8xf32> {
  %r = hlo.rng %a, %b distribution = "rng_uniform" : (tensor<f32>, tensor<f32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @normal
// CHECK:       hlo.log
// CHECK:       hlo.sqrt
// CHECK-NOT:   hlo.rng
func.func @normal(%a: tensor<f32>, %b: tensor<f32>) -> tensor<8xf32> {
  %r = hlo.rng %a, %b distribution = "rng_normal" : (tensor<f32>, tensor<f32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}
