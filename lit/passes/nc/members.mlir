// RUN: neuron-opt %s -p nc-allocate --split-input-file --verify-diagnostics | filecheck %s

// Variables side by side, one in each row. Variables with an address keep it.

// CHECK: nc.variable "a" {{.*}} at 4096
// CHECK: nc.variable "b" {{.*}} at 4480
// CHECK: nc.variable "c" {{.*}} at 4352
// CHECK: nc.variable "both" {{.*}} of [@c, @b] at 4352
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "a" : "input" memref<64xf32, #nc.space<"hbm">> index 0 at 4096
  nc.variable "b" : "input" memref<8x4xf32, #nc.space<"hbm">> index 1
  nc.variable "c" : "input" memref<8x4xf32, #nc.space<"hbm">> index 2
  nc.variable "both" : "input" memref<2x32xf32, #nc.space<"hbm">> of [@c, @b]
  nc.func "main" {
    nc.return
  }
}

// -----

// expected-error@unknown {{nc.variable @both of @c: there is no such nc.variable}}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "b" : "input" memref<8x4xf32, #nc.space<"hbm">> index 1
  nc.variable "both" : "input" memref<2x32xf32, #nc.space<"hbm">> of [@c, @b]
  nc.func "main" {
    nc.return
  }
}

// -----

// expected-error@unknown {{nc.variable @both of @b: it is too large}}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "ordered"} {
  nc.variable "b" : "input" memref<64xf32, #nc.space<"hbm">> index 1
  nc.variable "both" : "input" memref<1x32xf32, #nc.space<"hbm">> of [@b]
  nc.func "main" {
    nc.return
  }
}
