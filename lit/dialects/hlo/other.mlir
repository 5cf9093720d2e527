// RUN: neuron-opt %s | neuron-opt | filecheck %s

// Random bits, the gradient of batch normalisation, and sharding domains.

func.func @random(%state: tensor<2xui64>) {
  // CHECK: %rng_bit_generator = hlo.rng_bit_generator %state algorithm = rng_three_fry : (tensor<2xui64>) -> tuple<tensor<2xui64>, tensor<4xui32>>
  %rng_bit_generator = hlo.rng_bit_generator %state algorithm = rng_three_fry : (tensor<2xui64>) -> tuple<tensor<2xui64>, tensor<4xui32>>
  // CHECK: %rng_get_and_update_state = hlo.rng_get_and_update_state delta = 1 : tensor<2xui64>
  %rng_get_and_update_state = hlo.rng_get_and_update_state delta = 1 : tensor<2xui64>
  func.return
}

func.func @gradients(%x: tensor<2x4xf32>, %c: tensor<4xf32>) {
  // CHECK: %batch_norm_grad = hlo.batch_norm_grad %x, %c, %c, %c, %x epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %batch_norm_grad = hlo.batch_norm_grad %x, %c, %c, %c, %x epsilon = 1.000000e-03 : f32, feature_index = 1 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  func.return
}

func.func @sharding(%x: tensor<4xf32>) {
  // CHECK: %domain = hlo.domain %x : tensor<4xf32>
  %domain = hlo.domain %x : tensor<4xf32>
  func.return
}
