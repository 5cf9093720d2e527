// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --run | filecheck %s --check-prefix=VALUES

builtin.module {
  func.func @main() -> tensor<2x3xf32> {
    %x = hlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    // CHECK: tile.mask %x dimension = 1 kept = 2 value = 5.000000e-01 : tensor<2x3xf32> to tensor<2x3xf32>
    %0 = tile.mask %x dimension = 1 kept = 2 value = 5.000000e-01 : tensor<2x3xf32> to tensor<2x3xf32>
    // VALUES: [1. , 2. , 0.5], [4. , 5. , 0.5]
    func.return %0 : tensor<2x3xf32>
  }
}
