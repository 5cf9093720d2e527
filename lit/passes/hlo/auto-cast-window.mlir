// RUN: neuron-opt %s -p hlo-auto-cast | filecheck %s

// Rounding keeps the order of numbers, so pooling that only products read selects among rounded
// ones; %kept, which the result needs in fp32, is rounded afterwards.

// CHECK:      %[[X:.*]] = hlo.convert %x : (tensor<8x8xf32>) -> tensor<8x8xbf16>
// CHECK:      %[[P:.*]] = hlo.reduce_window %[[X]]
// CHECK:      hlo.maximum {{.*}} : tensor<bf16>
// CHECK:      tensor<4x4xbf16>
// CHECK:      hlo.dot %[[P]],
// CHECK:      %kept = hlo.reduce_window %x
// CHECK:      %[[K:.*]] = hlo.convert %kept : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK:      hlo.dot %[[K]],
func.func @main(%x: tensor<8x8xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %i = hlo.constant dense<0xFF800000> : tensor<f32>
  %p = hlo.reduce_window %x, %i window_dimensions = [2, 2], window_strides = [2, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  %d = hlo.dot %p, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %kept = hlo.reduce_window %x, %i window_dimensions = [2, 2], window_strides = [2, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 0, 0] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.maximum %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }) : (tensor<8x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  %e = hlo.dot %kept, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %d, %e, %kept : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
