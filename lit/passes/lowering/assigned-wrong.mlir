// RUN: not neuron-opt %s --split-input-file -p 'lower-hlo-to-nc{target=trn1}' 2>&1 | filecheck %s

// CHECK: [NIR_LOW008] {{.*}}nc.stationary = "both": the stationary operand of a dot is "lhs" or "rhs"
func.func @main(%x: tensor<128x64xbf16>, %v: tensor<64x128xbf16>) -> tensor<128x128xf32> {
  %d = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] {nc.stationary = "both"} : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
  func.return %d : tensor<128x128xf32>
}

// -----

// CHECK: [NIR_LOW008] {{.*}}nc.partition_dim = 1 : i64: of normalisations only the rows of whole tiles lie along partitions
func.func @main(%x: tensor<128x768xbf16>) -> tensor<128x768xbf16> {
  %d = hlo.add %x, %x {nc.partition_dim = 1 : i64} : tensor<128x768xbf16>
  func.return %d : tensor<128x768xbf16>
}
