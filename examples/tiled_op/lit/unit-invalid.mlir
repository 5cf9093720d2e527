// RUN: neuron-opt %s --verify-diagnostics

func.func @half(%x : tensor<2x4xbf16>) {
  // expected-error@+1 {{'rows.unit' op takes rows of f32, not tensor<2x4xbf16>}}
  %y = rows.unit %x epsilon 1.0e-6 : f32 : tensor<2x4xbf16>
  func.return
}
