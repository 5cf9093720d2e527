// RUN: neuron-opt %s -p 'lower-hlo-to-nc{target=trn1}' | filecheck %s

// A layout that is written by hand is used unchanged: here it costs six more transposes, of a
// result that the next product contracts.
// CHECK-LABEL:   nc.func "main"
// CHECK-COUNT-12: nc.transpose
// CHECK-NOT:     nc.transpose
// CHECK:         nc.return
func.func @main(%x: tensor<128x768xbf16>, %v: tensor<768x768xbf16>) -> tensor<128x768xf32> {
  %w = hlo.constant dense<5.000000e-01> : tensor<768x768xbf16>
  %p = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] {nc.stationary = "lhs"} : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  %d = hlo.dot %p, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xf32>
  func.return %d : tensor<128x768xf32>
}
