// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="matmult" relayout="fp16"},hlo-dce' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="bf16"},hlo-canonicalize,hlo-constant-fold' | filecheck %s --check-prefix=MASK
// RUN: neuron-opt %s -p 'hlo-auto-cast{mode="all" type="tf32"}' | filecheck %s --check-prefix=TF32

// An operand of a product is cast to the product's type before it is transposed (without a cast to
// fp16); constants, dimensions of size 1 and values that become integers keep their bits.

// CHECK-LABEL: @products
// CHECK:      %[[X:.*]] = hlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK:      %[[T:.*]] = hlo.transpose %[[X]] permutation = [1, 0] : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
// CHECK-NOT:  xf16>
// CHECK:      hlo.dot %[[T]],
func.func @products(%x: tensor<4x8xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %t = hlo.transpose %x permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %d = hlo.dot %t, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  func.return %d : tensor<8x4xf32>
}

// CHECK-LABEL: @bits
// CHECK-NOT:  xf16
// CHECK:      hlo.transpose %x permutation = [1, 0, 2] : (tensor<1x4x8xf32>) -> tensor<4x1x8xf32>
// CHECK:      hlo.transpose %i permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
func.func @bits(%x: tensor<1x4x8xf32>, %i: tensor<4x8xf32>) -> (tensor<4x1x8xf32>, tensor<8x4xi32>) {
  %t = hlo.transpose %x permutation = [1, 0, 2] : (tensor<1x4x8xf32>) -> tensor<4x1x8xf32>
  %u = hlo.transpose %i permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %n = hlo.convert %u : (tensor<8x4xf32>) -> tensor<8x4xi32>
  func.return %t, %n : tensor<4x1x8xf32>, tensor<8x4xi32>
}

// The lowest fp32 number, as masks have it, is below all of bf16: it becomes the lowest bf16 number,
// not minus infinity, whose product with 0 would be NaN.
// MASK-LABEL: @mask
// MASK:      hlo.constant dense<-3.389530e+38> : tensor<bf16>
// MASK:      hlo.multiply {{.*}} : tensor<4x8xbf16>

// tf32 is a type of products: nothing else is rounded to it.
// TF32-LABEL: @mask
// TF32-NOT:  hlo.convert
// TF32:      hlo.multiply {{.*}} : tensor<4x8xf32>
func.func @mask(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %l = hlo.constant dense<-3.40282347E+38> : tensor<f32>
  %b = hlo.broadcast %l dimensions = [] : (tensor<f32>) -> tensor<4x8xf32>
  %m = hlo.multiply %x, %b : tensor<4x8xf32>
  func.return %m : tensor<4x8xf32>
}
