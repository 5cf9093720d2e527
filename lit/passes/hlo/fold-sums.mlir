// RUN: neuron-opt %s -p hlo-fold-sums,hlo-dce | filecheck %s

// Positions and a token type, added one after the other, are added at compile time. A sum that would
// be larger than both, or infinite, stays; so do the biases of a product.

// CHECK-LABEL: func.func @embeddings
// CHECK-NEXT:    %[[C:.*]] = hlo.constant dense<{{\[+}}1.100000e+01, 2.200000e+01], [1.300000e+01, 2.400000e+01{{\]+}}> : tensor<2x2xf32>
// CHECK-NEXT:    %[[B:.*]] = hlo.broadcast %[[C]] dimensions = [1, 2]
// CHECK-NEXT:    %[[R:.*]] = hlo.add %x, %[[B]]
// CHECK-NEXT:    func.return %[[R]]
func.func @embeddings(%x: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> {
  %type = hlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %position = hlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = hlo.broadcast %type dimensions = [2] : (tensor<2xf32>) -> tensor<3x2x2xf32>
  %1 = hlo.add %x, %0 : tensor<3x2x2xf32>
  %2 = hlo.broadcast %position dimensions = [1, 2] : (tensor<2x2xf32>) -> tensor<3x2x2xf32>
  %3 = hlo.add %2, %1 : tensor<3x2x2xf32>
  func.return %3 : tensor<3x2x2xf32>
}

// CHECK-LABEL: func.func @larger
// CHECK:         hlo.add
// CHECK:         hlo.add
// CHECK:         func.return
func.func @larger(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hlo.broadcast %a dimensions = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
  %1 = hlo.add %x, %0 : tensor<2x2xf32>
  %2 = hlo.broadcast %a dimensions = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %3 = hlo.add %1, %2 : tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @infinite
// CHECK:         hlo.add
// CHECK:         hlo.add
// CHECK:         func.return
func.func @infinite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = hlo.constant dense<[3.0e+38, 0.0]> : tensor<2xf32>
  %0 = hlo.add %x, %a : tensor<2xf32>
  %1 = hlo.add %0, %a : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @product
// CHECK:         hlo.dot
// CHECK:         hlo.add
// CHECK:         hlo.add
// CHECK:         func.return
func.func @product(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = hlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hlo.dot %x, %w lhs_batch_dims = [], rhs_batch_dims = [], lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = hlo.broadcast %a dimensions = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %2 = hlo.add %0, %1 : tensor<2x2xf32>
  %3 = hlo.add %2, %1 : tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}
