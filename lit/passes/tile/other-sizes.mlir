// RUN: neuron-opt %s --load %S/../../../examples/tile_sizes.py -p 'sizes-set-tile{size=16}' | filecheck %s
// RUN: neuron-opt %s --load %S/../../../examples/tile_sizes.py -p 'sizes-set-tile{size=5}' 2>&1 >%t | filecheck %s --check-prefix=ODD
// RUN: filecheck %s --check-prefix=KEPT --input-file %t
// RUN: neuron-opt %s --load %S/../../../examples/tile_sizes.py -p 'sizes-set-tile{size=8}' --run

// A pass from outside (an example) lets a loop work on tiles of another size.

// CHECK-LABEL: func.func @twice
// CHECK: %[[STEP:.*]] = arith.constant 16 : index
// CHECK: scf.for %[[I:.*]] = {{.*}} step %[[STEP]]
// CHECK: tensor.extract_slice %x[%[[I]], 0] [16, 4] [1, 1] : tensor<32x4xf32> to tensor<16x4xf32>
// CHECK: hlo.add {{.*}} : tensor<16x4xf32>
// CHECK: tensor.insert_slice {{.*}} [16, 4] [1, 1] : tensor<16x4xf32> into tensor<32x4xf32>

// ODD: remark: tiles keep their size: 32 positions are no multiple of 5
// KEPT: tensor.extract_slice {{.*}} [8, 4] [1, 1]
func.func @twice(%x: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %0 = tile.empty "hbm" : tensor<32x4xf32>
  %1 = arith.constant 0 : index
  %2 = arith.constant 32 : index
  %3 = arith.constant 8 : index
  %4 = scf.for %5 = %1 to %2 step %3 iter_args(%6 = %0) -> (tensor<32x4xf32>) {
    %7 = tensor.extract_slice %x[%5, 0] [8, 4] [1, 1] : tensor<32x4xf32> to tensor<8x4xf32>
    %8 = hlo.add %7, %7 : tensor<8x4xf32>
    %9 = tensor.insert_slice %8 into %6[%5, 0] [8, 4] [1, 1] : tensor<8x4xf32> into tensor<32x4xf32>
    scf.yield %9 : tensor<32x4xf32>
  }
  func.return %4 : tensor<32x4xf32>
}

func.func @check() {
  %x = hlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16xf32>
  %0 = tile.empty "hbm" : tensor<16xf32>
  %1 = arith.constant 0 : index
  %2 = arith.constant 16 : index
  %3 = arith.constant 4 : index
  %4 = scf.for %5 = %1 to %2 step %3 iter_args(%6 = %0) -> (tensor<16xf32>) {
    %7 = tensor.extract_slice %x[%5] [4] [1] : tensor<16xf32> to tensor<4xf32>
    %8 = hlo.negate %7 : tensor<4xf32>
    %9 = tensor.insert_slice %8 into %6[%5] [4] [1] : tensor<4xf32> into tensor<16xf32>
    scf.yield %9 : tensor<16xf32>
  }
  %n = hlo.negate %x : tensor<16xf32>
  check.expect_eq %4, %n : tensor<16xf32>
  func.return
}
