// RUN: neuron-opt %s -p 'hlo-select-slices,hlo-canonicalize,hlo-dce' | filecheck %s

// Each step selects the upper or the lower part of what may still be the window, until only the window is left. An
// update is moved to its place in the same way, in the other direction, and selected there.

// CHECK:     func.func @slice
// CHECK:     %[[A:.*]] = hlo.slice %x start_indices = [0], limit_indices = [3]
// CHECK:     %[[B:.*]] = hlo.slice %x start_indices = [2], limit_indices = [5]
// CHECK:     hlo.select %{{.*}}, %[[B]], %[[A]]
// CHECK:     hlo.select {{.*}} tensor<2xf32>
// CHECK:     func.func @update
// CHECK:     hlo.pad %u
// CHECK:     hlo.select {{.*}} tensor<5xf32>
// CHECK:     func.func @known
// CHECK:     hlo.slice %x start_indices = [1], limit_indices = [3]
// CHECK-NOT: dynamic
func.func @slice(%x: tensor<5xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %r = hlo.dynamic_slice %x, %i slice_sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

func.func @update(%x: tensor<5xf32>, %u: tensor<3xf32>, %i: tensor<i32>) -> tensor<5xf32> {
  %r = hlo.dynamic_update_slice %x, %u, %i : (tensor<5xf32>, tensor<3xf32>, tensor<i32>) -> tensor<5xf32>
  func.return %r : tensor<5xf32>
}

func.func @known(%x: tensor<5xf32>) -> tensor<2xf32> {
  %i = hlo.constant dense<1> : tensor<i32>
  %r = hlo.dynamic_slice %x, %i slice_sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
