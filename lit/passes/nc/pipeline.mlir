// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule' | filecheck %s --check-prefix=ORDER
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule,nc-assign-banks,nc-allocate' | filecheck %s --check-prefix=ALLOC
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' | filecheck %s --check-prefix=SYNC
// RUN: neuron-opt %s -p 'nc-unroll{limit=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule' | filecheck %s --check-prefix=PIPE
// RUN: neuron-opt %s -p 'nc-unroll{keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule' | filecheck %s --check-prefix=UNROLL

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<2048x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "w" : "constant" memref<32x32xbf16, #nc.space<"hbm">>
  nc.variable "y" : "output" memref<2048x64xbf16, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<2048x64xbf16, #nc.space<"hbm">>
    %w = nc.address_of @w : memref<32x32xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<2048x64xbf16, #nc.space<"hbm">>
    %c = nc.alloc "constant" : memref<32x32xbf16, #nc.space<"sbuf">>
    nc.dma (%c[0:32 | 32:1 | 0]) = (%w[0:32 * 32 | 32:1 | 0])
    %zero = arith.constant 0 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<32x64xbf16, #nc.space<"sbuf">>
      %p = nc.alloc : memref<32x64xf32, #nc.space<"psum">>
      %r = nc.alloc : memref<32x64xbf16, #nc.space<"sbuf">>
      nc.dma (%a[0:32 | 64:1 | 0]) = (%x[0:32 * 64 | 64:1 | 0 + 2048 * %i])
      nc.matmul (%p[0:32 | 64:1 | 0]) = (%c[0:32 | 32:1 | 0], %a[0:32 | 64:1 | 0]) {accumulate = 0}
      nc.activation (%r[0:32 | 64:1 | 0], none) = (%p[0:32 | 64:1 | 0], none, none) {func = "relu"}
      nc.dma (%y[0:32 * 64 | 64:1 | 0 + 2048 * %i]) = (%r[0:32 | 64:1 | 0])
    }
    nc.return
  }
}

// ORDER: neuronir.phase = "ordered"
// ORDER: nc.dma {{.*}} on dma1
// ORDER: scf.for
// ORDER: nc.dma {{.*}} on dma2
// ORDER: nc.matmul {{.*}} on pe
// ORDER: nc.activation {{.*}} on act
// ORDER: nc.dma {{.*}} on dma4

// The loop's buffers get addresses; the constant one is live to the end and is placed next to them.
// ALLOC: neuronir.phase = "allocated"
// ALLOC: nc.variable "x" {{.*}} at 0
// ALLOC: nc.variable "w" {{.*}} at 262144
// ALLOC: nc.alloc "constant" at
// ALLOC: scf.for
// ALLOC: nc.alloc at {{[0-9]+}} {{.*}}sbuf
// ALLOC: nc.alloc at 0 {{.*}}psum

// Waits count iterations: the load of iteration i waits until PE has used the previous one (i
// times), and PE waits until 16 * (i + 1) parts of its load have arrived.
// SYNC: neuronir.phase = "synchronised"
// SYNC: nc.dma {{.*}} on dma1 update [<[[W:[0-9]+]], 16>]
// SYNC: scf.for
// SYNC: nc.dma {{.*}} on dma2 wait [<0, 0 + 1 * %{{[a-z0-9_]+}}>] update [<[[L:[0-9]+]], 16>]
// SYNC: nc.matmul {{.*}} on pe wait [<[[L]], 16 + 16 * %{{[a-z0-9_]+}}>, <[[W]], 16>, <1, 0 + 1 * %{{[a-z0-9_]+}}>] update [<0, 1>]
// SYNC: nc.activation {{.*}} on act wait [<0, 1 + 1 * %{{[a-z0-9_]+}}>
// SYNC: nc.dma {{.*}} on dma4 by pool wait [<1, 1 + 1 * %{{[a-z0-9_]+}}>]

// PIPE: nc.dma
// PIPE: scf.for
// PIPE: } {nc.pipelined}
// PIPE: nc.matmul

// UNROLL-NOT: scf.for
// UNROLL: nc.return
