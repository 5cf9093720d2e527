// RUN: neuron-opt %s --verify-diagnostics --split-input-file

func.func @integers(%x : tensor<2xi32>) {
  // expected-error@+1 {{'toy.scale' op scales float tensors, not tensor<2xi32>}}
  %y = toy.scale %x by 2.0 : f32 : tensor<2xi32>
  func.return
}

// -----

func.func @precision(%x : tensor<2xbf16>) {
  // expected-error@+1 {{'toy.scale' op has a factor of f32 for tensor<2xbf16>}}
  %y = toy.scale %x by 2.0 : f32 : tensor<2xbf16>
  func.return
}
