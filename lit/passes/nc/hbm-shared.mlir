// Two scratch arrays of 1.5 GiB that are used one after the other share the bytes of a core of inf1, which has 2 GiB.
// RUN: neuron-opt %s -p nc-assign-engines,nc-schedule,nc-spill,nc-assign-banks,nc-allocate | filecheck %s
// RUN: neuron-opt %s -p nc-verify-room,nc-assign-engines,nc-schedule,nc-spill,nc-assign-banks,nc-verify-order,nc-allocate,nc-split-transfers,nc-order-triggers,nc-assign-queues,nc-verify-order,nc-synchronise,nc-verify-order,nc-verify-machine | filecheck %s

// CHECK-DAG: nc.variable "x" : "input" {{.*}} index 0 at 0
// CHECK-DAG: nc.variable "s" : "scratch" {{.*}} at [[AT:[0-9]+]]
// CHECK-DAG: nc.variable "t" : "scratch" {{.*}} at [[AT]]
// CHECK: nc.func

builtin.module attributes {nc.machine = "inf1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x1000xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x1000xf32, #nc.space<"hbm">> index 0
  nc.variable "s" : "scratch" memref<128x3145728xf32, #nc.space<"hbm">>
  nc.variable "t" : "scratch" memref<128x3145728xf32, #nc.space<"hbm">>
  nc.func "main" {
    %x = nc.address_of @x : memref<128x1000xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x1000xf32, #nc.space<"hbm">>
    %s = nc.address_of @s : memref<128x3145728xf32, #nc.space<"hbm">>
    %t = nc.address_of @t : memref<128x3145728xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x1000xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x1000xf32, #nc.space<"sbuf">>
    %c = nc.alloc : memref<128x1000xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 1000:1 | 0]) = (%x[0:128 * 1000 | 1000:1 | 0]) loc("x")
    nc.dma (%s[0:128 * 3145728 | 1000:1 | 0]) = (%a[0:128 | 1000:1 | 0]) loc("s")
    nc.dma (%b[0:128 | 1000:1 | 0]) = (%s[0:128 * 3145728 | 1000:1 | 0]) loc("b")
    nc.dma (%t[0:128 * 3145728 | 1000:1 | 0]) = (%b[0:128 | 1000:1 | 0]) loc("t")
    nc.dma (%c[0:128 | 1000:1 | 0]) = (%t[0:128 * 3145728 | 1000:1 | 0]) loc("c")
    nc.dma (%y[0:128 * 1000 | 1000:1 | 0]) = (%c[0:128 | 1000:1 | 0]) loc("y")
    nc.return
  }
}
