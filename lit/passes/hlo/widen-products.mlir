// RUN: neuron-opt %s -p hlo-widen-products,hlo-dce | filecheck %s

// The result of a product of 16-bit operands stays in f32 through a scale, a repeated bias, a
// reduction and a function; the only rounding is that of the result.

// CHECK-LABEL: func.func @epilogue
// CHECK:         %[[P:.*]] = hlo.dot %x, %w {{.*}} -> tensor<64x64xf32>
// CHECK:         %[[B:.*]] = hlo.convert %b : (tensor<64xbf16>) -> tensor<64xf32>
// CHECK:         hlo.broadcast %[[B]] {{.*}} -> tensor<64x64xf32>
// CHECK:         %[[S:.*]] = hlo.add %[[P]], {{.*}} : tensor<64x64xf32>
// CHECK:         %[[T:.*]] = hlo.tanh %[[S]] : tensor<64x64xf32>
// CHECK:         %[[R:.*]] = hlo.convert %[[T]]
// CHECK-NEXT:    func.return %[[R]] : tensor<64x64xbf16>
func.func @epilogue(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %b: tensor<64xbf16>) -> tensor<64x64xbf16> {
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = hlo.broadcast %b dimensions = [1] : (tensor<64xbf16>) -> tensor<64x64xbf16>
  %2 = hlo.add %0, %1 : tensor<64x64xbf16>
  %3 = hlo.tanh %2 : tensor<64x64xbf16>
  func.return %3 : tensor<64x64xbf16>
}

// A value that was rounded, to be read in f32 again, is read as it was. The reducer has the new type, too.

// CHECK-LABEL: func.func @sum
// CHECK:         %[[P:.*]] = hlo.dot {{.*}} -> tensor<64x64xf32>
// CHECK:         %[[E:.*]] = hlo.exponential %[[P]] : tensor<64x64xf32>
// CHECK-NOT:     hlo.convert %[[E]]
// CHECK:         hlo.reduce %[[E]]
// CHECK:         %[[M:.*]] = hlo.reduce %[[E]]
// CHECK:           hlo.maximum {{.*}} : tensor<f32>
// CHECK:         hlo.convert %[[M]] : (tensor<64xf32>) -> tensor<64xbf16>
func.func @sum(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64xf32>, tensor<64xbf16>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<-1.0e+30> : tensor<bf16>
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = hlo.exponential %0 : tensor<64x64xbf16>
  %2 = hlo.convert %1 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %3 = hlo.reduce %2, %zero dimensions = [1] ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = hlo.add %a, %b : tensor<f32>
    hlo.return %4 : tensor<f32>
  }) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = hlo.reduce %1, %low dimensions = [1] ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %6 = hlo.maximum %a, %b : tensor<bf16>
    hlo.return %6 : tensor<bf16>
  }) : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  func.return %3, %5 : tensor<64xf32>, tensor<64xbf16>
}

// Not changed: a product that is stored or multiplied directly, and one that is added to a bf16
// array whose copy in f32 would be as large as the product.

// CHECK-LABEL: func.func @stored
// CHECK-NOT:     f32
// CHECK:         func.return
func.func @stored(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = hlo.dot %0, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %2 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [0], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %3 = hlo.add %2, %x : tensor<64x64xbf16>
  func.return %1, %3 : tensor<64x64xbf16>, tensor<64x64xbf16>
}

// A product that the program converts to integers by way of f32: they are those of the rounded numbers, and the
// product keeps its type.

// CHECK-LABEL: func.func @converted
// CHECK:         %[[P:.*]] = hlo.dot {{.*}} : tensor<64x64xbf16>
// CHECK-NEXT:    %[[W:.*]] = hlo.convert %[[P]] : (tensor<64x64xbf16>) -> tensor<64x64xf32>
// CHECK-NEXT:    hlo.convert %[[W]] : (tensor<64x64xf32>) -> tensor<64x64xi32>
func.func @converted(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xi32> {
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = hlo.convert %0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %2 = hlo.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xi32>
  func.return %2 : tensor<64x64xi32>
}

// The same to f16: the second rounding is not the product's.

// CHECK-LABEL: func.func @halves
// CHECK:         %[[P:.*]] = hlo.dot {{.*}} -> tensor<64x64xf32>
// CHECK-NEXT:    hlo.convert %[[P]] : (tensor<64x64xf32>) -> tensor<64x64xf16>
func.func @halves(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xf16> {
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = hlo.convert %0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %2 = hlo.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xf16>
  func.return %2 : tensor<64x64xf16>
}

// A number as large as the mantissa rounds what it is added to; in f32 it would not.

// CHECK-LABEL: func.func @rounds
// CHECK:         %[[P:.*]] = hlo.dot {{.*}} -> tensor<64x64xf32>
// CHECK:         %[[A:.*]] = hlo.convert {{.*}} : (tensor<64x64xf32>) -> tensor<64x64xf16>
// CHECK:         %[[S:.*]] = hlo.add %[[A]], {{.*}} : tensor<64x64xf16>
// CHECK:         hlo.subtract %[[S]], {{.*}} : tensor<64x64xf16>
func.func @rounds(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %c = hlo.constant dense<1.024000e+03> : tensor<f16>
  %m = hlo.broadcast %c dimensions = [] : (tensor<f16>) -> tensor<64x64xf16>
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = hlo.abs %0 : tensor<64x64xf16>
  %2 = hlo.add %1, %m : tensor<64x64xf16>
  %3 = hlo.subtract %2, %m : tensor<64x64xf16>
  func.return %3 : tensor<64x64xf16>
}
