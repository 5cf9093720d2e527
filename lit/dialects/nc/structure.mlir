// RUN: neuron-opt %s | neuron-opt | filecheck %s

builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "x" : "input" memref<2x128x64xf32, #nc.space<"hbm">> index 0 layout array<i64: 1, 2, 0> named "p.0" at 64
  // CHECK: nc.variable "x" : "input" memref<2x128x64xf32, #nc.space<"hbm">> index 0 layout array<i64: 1, 2, 0> named "p.0" at 64
  nc.variable "y" : "output" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  // CHECK: nc.variable "y" : "output" memref<2x128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    // CHECK-NEXT: nc.func "main" {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    scf.for %i = %zero to %two step %one {
      nc.call @half(%i)
      // CHECK: nc.call @half(%i)
    }
    nc.return
    // CHECK: nc.return
  }
  nc.func "half" {
  ^bb0(%i : index):
    %x = nc.address_of @x : memref<2x128x64xf32, #nc.space<"hbm">>
    // CHECK: %x = nc.address_of @x : memref<2x128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %r = nc.register_load () = (%x[0:1 | 1:1 | 0 as i32]) {low = 0, high = 3} on sp -> index
    // CHECK: %r = nc.register_load () = (%x[0:1 | 1:1 | 0 as i32]) {low = 0, high = 3} on sp -> index
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 8 + 8192 * %i + 1 * %r]) on dma1 wait [<2, 0 + 16 * %i>] update [<2, 16>]
    // CHECK-NEXT: nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 8 + 8192 * %i + 1 * %r]) on dma1 wait [<2, 0 + 16 * %i>] update [<2, 16>]
    nc.return
  }
}
