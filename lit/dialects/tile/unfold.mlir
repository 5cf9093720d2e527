// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --run | filecheck %s --check-prefix=VALUES

builtin.module {
  func.func @main() -> (tensor<3x3xf32>, tensor<2x4xf32>) {
    %x = hlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
    // CHECK: tile.unfold %x dimension = 0 start = 1 step = 2 : tensor<8xf32> to tensor<3x3xf32>
    %0 = tile.unfold %x dimension = 0 start = 1 step = 2 : tensor<8xf32> to tensor<3x3xf32>
    // CHECK: tile.unfold %x dimension = 0 start = 4 step = -4 : tensor<8xf32> to tensor<2x4xf32>
    %1 = tile.unfold %x dimension = 0 start = 4 step = -4 : tensor<8xf32> to tensor<2x4xf32>
    // VALUES:      [1., 2., 3.], [3., 4., 5.], [5., 6., 7.]
    // VALUES:      [4., 5., 6., 7.], [0., 1., 2., 3.]
    func.return %0, %1 : tensor<3x3xf32>, tensor<2x4xf32>
  }
}
