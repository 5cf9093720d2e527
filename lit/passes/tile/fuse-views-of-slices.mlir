// RUN: neuron-opt %s -p 'tile-fuse{target=trn1}' | filecheck %s

// A slice that a loop of the program reads keeps its position. A view that it slices is kept with it.

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

// CHECK:       %r = scf.for %i
// CHECK:         [[WIDE:%.*]] = hlo.broadcast %a dimensions = [1] : (tensor<1024xf32>) -> tensor<8x1024xf32>
// CHECK-NEXT:    %part = tensor.extract_slice [[WIDE]][0, %at] [8, 64] [1, 1]
