// RUN: neuron-opt %s -p nc-order-triggers | filecheck %s
// RUN: neuron-opt %s -p nc-order-triggers --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STAT
// RUN: neuron-opt %s -p nc-verify-order,nc-order-triggers,nc-verify-order -o /dev/null
// RUN: sed 's/{nc.scheduled}//' %s | neuron-opt -p nc-order-triggers | filecheck %s --check-prefix=HAND

// SP starts the loads of %b, whose bytes ACT reads as %a until late, and of %c, whose bytes are
// free. The load that can start first comes first. A load after the loop, into bytes that the loop
// does not use, moves before the loop. Functions that nc-schedule has not ordered are not changed.

// CHECK: nc.dma (%a{{.*}} on dma1
// CHECK: nc.dma (%c{{.*}} on dma2
// CHECK: nc.dma (%d{{.*}} on dma2
// CHECK: nc.dma (%b{{.*}} on dma1
// CHECK: scf.for
// CHECK: nc.dma (%r{{.*}} on dma3
// CHECK: nc.tensor_copy (%r{{.*}} = (%d

// STAT: 1 loads moved in front of loops
// STAT: ns saved in straight-line code

// HAND: nc.dma (%b{{.*}} on dma1
// HAND: nc.dma (%c{{.*}} on dma2
// HAND: scf.for
// HAND: nc.dma (%d{{.*}} on dma2

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.variable "x" : "input" memref<128x4096xf32, #nc.space<"hbm">> index 0 at 0
  nc.variable "y" : "output" memref<128x4096xf32, #nc.space<"hbm">> index 0 at 2097152
  nc.func "main" {
    %x = nc.address_of @x : memref<128x4096xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x4096xf32, #nc.space<"hbm">>
    %a = nc.alloc at 0 : memref<128x512xf32, #nc.space<"sbuf">>
    %b = nc.alloc at 0 : memref<128x512xf32, #nc.space<"sbuf">>
    %c = nc.alloc at 2048 : memref<128x512xf32, #nc.space<"sbuf">>
    %d = nc.alloc at 4096 : memref<128x512xf32, #nc.space<"sbuf">>
    %r = nc.alloc at 6144 : memref<128x512xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    nc.dma (%a[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 0]) on dma1
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%a[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.dma (%b[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 512]) on dma1
    nc.dma (%c[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 1024]) on dma2
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%c[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    nc.activation (%r[0:128 | 512:1 | 0], none) = (%b[0:128 | 512:1 | 0], none, none) {func = "exp"} on act
    scf.for %i = %zero to %four step %one {
      nc.dma (%r[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 0 + 512 * %i]) on dma3
      nc.dma (%y[0:128 * 4096 | 512:1 | 0 + 512 * %i]) = (%r[0:128 | 512:1 | 0]) on dma4 by pool
    }
    nc.dma (%d[0:128 | 512:1 | 0]) = (%x[0:128 * 4096 | 512:1 | 2560]) on dma2
    nc.tensor_copy (%r[0:128 | 512:1 | 0]) = (%d[0:128 | 512:1 | 0]) on dve
    nc.dma (%y[0:128 * 4096 | 512:1 | 2560]) = (%r[0:128 | 512:1 | 0]) on dma4 by pool
    nc.return
  } {nc.scheduled}
}
