// A function that is the whole body of a loop stays one, from the virtual phase to the last. Buffers
// of the caller are arguments, and the decisions of the passes depend on the surrounding code.
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule' | filecheck %s --check-prefix=ORDER
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule,nc-assign-banks,nc-allocate' | filecheck %s --check-prefix=ALLOC
// RUN: neuron-opt %s -p 'nc-unroll{limit=0 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule,nc-assign-banks,nc-allocate,nc-synchronise,nc-verify-machine' | filecheck %s --check-prefix=SYNC
// RUN: neuron-opt %s -p 'nc-unroll{limit=1000 keep=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-reload-weights,nc-schedule' | filecheck %s --check-prefix=WRITTEN

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<64x32x64xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<32x64xf32, #nc.space<"hbm">> index 0
  nc.func "add" {
  ^entry(%i : index, %x : memref<64x32x64xf32, #nc.space<"hbm">>, %sum : memref<32x64xf32, #nc.space<"sbuf">>):
    %a = nc.alloc : memref<32x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:32 | 64:1 | 0]) = (%x[0:32 * 64 | 64:1 | 0 + 2048 * %i])
    nc.tensor_tensor (%sum[0:32 | 64:1 | 0]) = (%sum[0:32 | 64:1 | 0], %a[0:32 | 64:1 | 0]) {op = "add"}
    nc.return
  }
  nc.func "main" {
    %x = nc.address_of @x : memref<64x32x64xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<32x64xf32, #nc.space<"hbm">>
    %sum = nc.alloc : memref<32x64xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    nc.memset (%sum[0:32 | 64:1 | 0]) = () {value = 0.0}
    scf.for %i = %zero to %trips step %one {
      nc.call @add(%i, %x, %sum)
    }
    nc.dma (%y[0:32 * 64 | 64:1 | 0]) = (%sum[0:32 | 64:1 | 0])
    nc.return
  }
}

// ORDER-LABEL: nc.func "add"
// ORDER-NEXT: ^{{.*}}([[I:%[a-z0-9_]+]]: index, [[X:%[a-z0-9_]+]]: memref<64x32x64xf32, #nc.space<"hbm">>, [[S:%[a-z0-9_]+]]: memref<32x64xf32, #nc.space<"sbuf">>):
// ORDER:   nc.dma {{.*}} = ([[X]][0:32 * 64 | 64:1 | 0 + 2048 * [[I]]]) on dma1
// ORDER:   nc.tensor_tensor ([[S]][0:32 | 64:1 | 0]) = {{.*}} on dve
// ORDER-LABEL: nc.func "main"
// ORDER:   scf.for [[R:%[a-z0-9_]+]] =
// ORDER-NEXT: nc.call @add([[R]], %x, %sum)
// ORDER-NEXT: }

// The sum of the caller is live in the whole loop: buffers of the function are placed next to it.
// ALLOC-LABEL: nc.func "add"
// ALLOC:   %a = nc.alloc at {{[0-9]+}}
// ALLOC-LABEL: nc.func "main"
// ALLOC:   %sum = nc.alloc at

// SYNC-LABEL: nc.func "add"
// SYNC:   nc.dma {{.*}} on dma1 wait [<[[E:[0-9]+]], {{-?[0-9]+}} + 1 * %{{[a-z0-9_]+}}>] update [<[[L:[0-9]+]], 16>]
// SYNC:   nc.tensor_tensor {{.*}} on dve wait [<[[L]], 16 + 16 * %{{[a-z0-9_]+}}>{{.*}}] update [<[[E]], 1>]
// SYNC-LABEL: nc.func "main"
// SYNC:   nc.call @add
// SYNC:   nc.dma {{.*}} on dma4 by pool wait [<[[E]], {{[0-9]+}}>]

// If a loop is unrolled, its function is inlined.
// WRITTEN-NOT: nc.func "add"
// WRITTEN-LABEL: nc.func "main"
// WRITTEN-NOT: nc.call
