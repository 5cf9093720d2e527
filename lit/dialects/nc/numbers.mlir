// RUN: neuron-opt %s | filecheck %s
// RUN: neuron-opt %s | neuron-opt | filecheck %s

// Parameters print without the types i64 and f64, and read back as the same values.

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.func "main" {
    %a = nc.alloc : memref<2x2xf32, #nc.space<"sbuf">>
    // CHECK: {value = -3.4028234663852886e+38} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = -3.4028234663852886e+38 : f64} on pool
    // CHECK-NEXT: {value = 0x7ff0000000000000 : f64} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = 0x7FF0000000000000 : f64} on pool
    // CHECK-NEXT: {value = 16777217.0} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = 16777217.0} on pool
    // CHECK-NEXT: {value = 1.000000e+300} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = 1.0e+300 : f64} on pool
    // CHECK-NEXT: {value = 3} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = 3 : i64} on pool
    // CHECK-NEXT: {value = 5.000000e-01 : f32} on pool
    nc.memset (%a[0:2 | 2:1 | 0]) = () {value = 0.5 : f32} on pool
    nc.return
  }
}
