// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1}' | filecheck %s --check-prefix=ASSIGNED
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1 products=false}' | filecheck %s --check-prefix=NONE
// RUN: neuron-opt %s -p 'hlo-assign-layouts' | filecheck %s --check-prefix=NONE
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1},lower-hlo-to-nc{target=trn1}' | filecheck %s
// RUN: neuron-opt %s -p 'hlo-assign-layouts{target=trn1},lower-hlo-to-nc{target=trn1}' --pass-statistics 2>&1 >%t | filecheck %s --check-prefix=STATS
// RUN: neuron-opt %s -p 'lower-hlo-to-nc{target=trn1}' | filecheck %s --check-prefix=ALONE
// RUN: not neuron-opt %s -p 'lower-hlo-to-nc{target=trn1 lookahead=0}' 2>&1 | filecheck %s --check-prefix=WRONG

// With 128 columns, PE would take less time for x times w and six transposes than with w as the
// stationary operand. But this program is bound by DMA, so w is stationary: the product has the
// layout that the second one needs, and only x is transposed.

// ASSIGNED:     %[[P:.*]] = hlo.dot %{{.*}} {nc.stationary = "rhs"} :
// ASSIGNED:     hlo.dot %[[P]]{{.*}} rhs_contracting_dims = [0] :
// NONE-NOT:     nc.stationary

// CHECK-LABEL: nc.func "main"
// CHECK-COUNT-6: nc.transpose
// CHECK-NOT:     nc.transpose
// CHECK:         nc.matmul ({{.*}}128:1{{.*}}) = ({{.*}}128:1{{.*}}, {{.*}}128:1{{.*}})
// CHECK-NOT:     nc.transpose
// CHECK:         nc.return

// STATS: hlo-assign-layouts
// STATS: 4031 layout assignment: ns of PE, sides by PE alone
// STATS: 4359 layout assignment: ns of PE, sides by all resources
// STATS: 1226 layout assignment: ns of the PSUM port, sides by PE alone
// STATS: 806 layout assignment: ns of the PSUM port, sides by all resources
// STATS: 6 transposes spared by the other side

// The product by itself: as PE alone would have it.

// ALONE-COUNT-12: nc.transpose

// WRONG: [NIR_LOW007] lower-hlo-to-nc: layouts look at 1 op downstream or more, not 0
func.func @main(%x: tensor<128x768xbf16>, %v: tensor<768x768xbf16>) -> tensor<128x768xf32> {
  %w = hlo.constant dense<5.000000e-01> : tensor<768x768xbf16>
  %p = hlo.dot %x, %w lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xbf16>
  %d = hlo.dot %p, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] : (tensor<128x768xbf16>, tensor<768x768xbf16>) -> tensor<128x768xf32>
  func.return %d : tensor<128x768xf32>
}
