// Two loops of one op are two loops in the statistics, each with its interval and the load that bounds it.
// RUN: neuron-opt %s -p 'nc-unroll{limit=0},nc-split-loads,nc-assign-engines,nc-rotate,nc-prefetch,nc-pipeline,nc-reload-weights,nc-schedule' --pass-statistics 2>&1 >%t | filecheck %s

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "virtual"} {
  nc.variable "x" : "input" memref<8192x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<8192x64xbf16, #nc.space<"hbm">> index 0
  nc.variable "z" : "output" memref<8192x64xbf16, #nc.space<"hbm">> index 1
  nc.func "main" {
    %x = nc.address_of @x : memref<8192x64xbf16, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<8192x64xbf16, #nc.space<"hbm">>
    %z = nc.address_of @z : memref<8192x64xbf16, #nc.space<"hbm">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 64 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
      %r = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0 + 8192 * %i])
      nc.activation (%r[0:128 | 64:1 | 0], none) = (%a[0:128 | 64:1 | 0], none, none) {func = "relu"}
      nc.dma (%y[0:128 * 64 | 64:1 | 0 + 8192 * %i]) = (%r[0:128 | 64:1 | 0])
    }
    scf.for %j = %zero to %trips step %one {
      %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
      nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 0 + 8192 * %j])
      nc.dma (%z[0:128 * 64 | 64:1 | 0 + 8192 * %j]) = (%a[0:128 | 64:1 | 0])
    }
    nc.return
  }
}

// CHECK: 2 loops pipelined
// CHECK: {{[0-9]+}} pipelined loop 1{{.*}}: copies
// CHECK: {{1[0-9][0-9]}} pipelined loop 1{{.*}}: interval % of load
// CHECK: {{[0-9]+}} pipelined loop 1{{.*}}: interval ns
// CHECK: {{[0-9]+}} pipelined loop 1{{.*}}: load of {{.*}} ns
// CHECK: {{[0-9]+}} pipelined loop 1{{.*}}: stages
// CHECK: {{[0-9]+}} pipelined loop 2{{.*}}: copies
// CHECK: {{1[0-9][0-9]}} pipelined loop 2{{.*}}: interval % of load
