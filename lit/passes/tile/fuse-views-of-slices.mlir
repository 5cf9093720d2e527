// RUN: neuron-opt %s -p 'tile-fuse{target=trn1}' --split-input-file | filecheck %s

// A loop that reads slices of a view reads slices of the array, and views those.

// CHECK-LABEL: @main(%a
func.func @main(%a : tensor<1024xf32>, %b : tensor<8x64xf32>) -> tensor<8x64xf32> attributes {hlo.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %wide = hlo.broadcast %a dimensions = [1] : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %r = scf.for %i = %c0 to %c16 step %c1 iter_args(%s = %b) -> (tensor<8x64xf32>) {
    %c64 = arith.constant 64 : index
    %at = arith.muli %i, %c64 : index
    %part = tensor.extract_slice %wide[0, %at] [8, 64] [1, 1] : tensor<8x1024xf32> to tensor<8x64xf32>
    %t = hlo.add %s, %part : tensor<8x64xf32>
    scf.yield %t : tensor<8x64xf32>
  }
  func.return %r : tensor<8x64xf32>
}
// CHECK:       scf.for %i
// CHECK:         [[PART:%.*]] = tensor.extract_slice %a[{{.*}}] [64] [1] : tensor<1024xf32> to tensor<64xf32>
// CHECK:         hlo.broadcast [[PART]] dimensions = [1] : (tensor<64xf32>) -> tensor<8x64xf32>

// -----

// CHECK-LABEL: @main(%x
func.func @main(%x : tensor<64x16x8xf32>, %w : tensor<16x16xf32>, %h : tensor<8x16xbf16>) -> tensor<8x16xbf16> attributes {hlo.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %turned = hlo.transpose %x permutation = [0, 2, 1] : (tensor<64x16x8xf32>) -> tensor<64x8x16xf32>
  %xb = hlo.convert %turned : (tensor<64x8x16xf32>) -> tensor<64x8x16xbf16>
  %wb = hlo.convert %w : (tensor<16x16xf32>) -> tensor<16x16xbf16>
  %r = scf.for %i = %c0 to %c64 step %c1 iter_args(%s = %h) -> (tensor<8x16xbf16>) {
    %part = tensor.extract_slice %xb[%i, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<64x8x16xbf16> to tensor<1x8x16xbf16>
    %row = hlo.reshape %part : (tensor<1x8x16xbf16>) -> tensor<8x16xbf16>
    %d = hlo.dot %s, %wb lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %t = hlo.add %d, %row : tensor<8x16xbf16>
    scf.yield %t : tensor<8x16xbf16>
  }
  func.return %r : tensor<8x16xbf16>
}
// CHECK:       scf.for %i
// CHECK-DAG:     [[W:%.*]] = hlo.convert %w : (tensor<16x16xf32>) -> tensor<16x16xbf16>
// CHECK-DAG:     [[PART:%.*]] = tensor.extract_slice %x[%i, 0, 0] [1, 16, 8] [1, 1, 1]
// CHECK-DAG:     hlo.transpose [[PART]] permutation = [0, 2, 1]
// CHECK-DAG:     hlo.dot %s, [[W]]
