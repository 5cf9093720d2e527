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

// -----

// CHECK: [NIR_LOW008] {{.*}}: only products of two matrices go block by block
func.func @main(%x: tensor<128x768xbf16>) -> tensor<128x768xbf16> {
  %d = hlo.add %x, %x {nc.blocks = {tiles = array<i64: 1, 1, 1>}} : tensor<128x768xbf16>
  func.return %d : tensor<128x768xbf16>
}

// -----

// CHECK: [NIR_LOW008] {{.*}}: there are no such blocks of it, or they do not fit into SBUF
func.func @main(%x: tensor<512x768xbf16>, %v: tensor<768x512xbf16>) -> tensor<512x512xbf16> {
  %d = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] {nc.blocks = {tiles = array<i64: 3, 5, 1>, transposed = array<i64: 0>, staged = 2 : i64, evicted = 2 : i64}} : (tensor<512x768xbf16>, tensor<768x512xbf16>) -> tensor<512x512xbf16>
  func.return %d : tensor<512x512xbf16>
}

// -----

// CHECK: [NIR_LOW008] {{.*}}: 'tiles' is 3 numbers
func.func @main(%x: tensor<512x768xbf16>, %v: tensor<768x512xbf16>) -> tensor<512x512xbf16> {
  %d = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] {nc.blocks = {tiles = array<i64: 3>, transposed = array<i64: 0>, staged = 2 : i64, evicted = 2 : i64}} : (tensor<512x768xbf16>, tensor<768x512xbf16>) -> tensor<512x512xbf16>
  func.return %d : tensor<512x512xbf16>
}

// -----

// CHECK: [NIR_LOW008] {{.*}}nc.blocks = "8x8x4": a dictionary is wanted
func.func @main(%x: tensor<512x768xbf16>, %v: tensor<768x512xbf16>) -> tensor<512x512xbf16> {
  %d = hlo.dot %x, %v lhs_contracting_dims = [1], rhs_contracting_dims = [0] {nc.blocks = "8x8x4"} : (tensor<512x768xbf16>, tensor<768x512xbf16>) -> tensor<512x512xbf16>
  func.return %d : tensor<512x512xbf16>
}
