// RUN: neuron-opt %s -p 'lower-hlo-to-nc{target=trn1}' | filecheck %s
// RUN: neuron-opt %s -p 'lower-hlo-to-nc{target=trn1}' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATS

// With 128 columns, PE would take less time for x times w and six transposes than for w as the
// stationary operand. But DMA is what this program waits for, so w is stationary: the product comes
// as the second one takes it, and only x is transposed.

// CHECK-LABEL: nc.func "main"
// CHECK-COUNT-6: nc.transpose
// CHECK-NOT:     nc.transpose
// CHECK:         nc.matmul ({{.*}}128:1{{.*}}) = ({{.*}}128:1{{.*}}, {{.*}}128:1{{.*}})
// CHECK-NOT:     nc.transpose
// CHECK:         nc.return

// STATS: 6 transposes spared by the other side
func.func @main(%x: tensor<128x768xbf16>, %v: tensor<768x768xbf16>) -> tensor<128x768xf32> {
  %w = hlo.constant dense<5.000000e-01> : tensor<768x768xbf16>
  %p = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  %d = hlo.dot %p, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xf32>
  func.return %d : tensor<128x768xf32>
}
