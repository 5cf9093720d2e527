// RUN: neuron-opt %s -p canonicalize --split-input-file | filecheck %s

// A copy onto itself goes; a copy that converts, accumulates or moves elements stays.
// CHECK:      %s = nc.alloc
// CHECK-NEXT: %x = nc.address_of @x
// CHECK-NEXT: %y = nc.address_of @y
// CHECK-NEXT: nc.dma (%s[{{.*}}]) = (%x[{{.*}}])
// CHECK-NEXT: nc.tensor_copy (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0 as u32])
// CHECK-NEXT: nc.tensor_copy (%s[0:128 | 4:1 | 4]) = (%s[0:128 | 4:1 | 0])
// CHECK-NEXT: nc.copy_predicated (%s[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 0], %s[0:128 | 4:1 | 4])
// CHECK-NEXT: nc.dma {{.*}} {accumulate = "add"}
// CHECK-NEXT: nc.dma (%y[{{.*}}]) = (%s[{{.*}}])
// CHECK-NEXT: nc.return
builtin.module attributes {nc.machine = "trn1", nc.phase = "virtual"} {
  nc.variable "x" : "input" memref<128x8xf32, #nc.space<"hbm">> index 0
  nc.variable "y" : "output" memref<128x8xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %x = nc.address_of @x : memref<128x8xf32, #nc.space<"hbm">>
    %x2 = nc.address_of @x : memref<128x8xf32, #nc.space<"hbm">>
    %y = nc.address_of @y : memref<128x8xf32, #nc.space<"hbm">>
    nc.dma (%x[0:128 * 8 | 8:1 | 0]) = (%x2[0:128 * 8 | 8:1 | 0])
    nc.dma (%s[0:128 | 8:1 | 0]) = (%x[0:128 * 8 | 8:1 | 0])
    nc.dma (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0])
    nc.tensor_copy (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0])
    nc.tensor_copy (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0 as u32])
    nc.tensor_copy (%s[0:128 | 4:1 | 4]) = (%s[0:128 | 4:1 | 0])
    nc.copy_predicated (%s[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 4], %s[0:128 | 4:1 | 0])
    nc.copy_predicated (%s[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 0], %s[0:128 | 4:1 | 4])
    nc.dma (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) {accumulate = "add"}
    nc.dma (%y[0:128 * 8 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0])
    nc.return
  }
}

// -----

// Buffers that are only written go with their writers. A buffer with an address stays, because
// another buffer may be at the same address.
// CHECK:      nc.func
// CHECK-NEXT: %placed = nc.alloc at 0
// CHECK-NEXT: nc.memset (%placed
// CHECK-NEXT: nc.return
builtin.module attributes {nc.machine = "trn1", nc.phase = "virtual"} {
  nc.func "main" {
    %unused = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %dead = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %placed = nc.alloc at 0 : memref<128x8xf32, #nc.space<"sbuf">>
    nc.memset (%dead[0:128 | 8:1 | 0]) = () {value = 0.0}
    nc.memset (%placed[0:128 | 8:1 | 0]) = () {value = 0.0}
    nc.return
  }
}

// -----

// Instructions with a wait or an update stay: others count them.
// CHECK:      nc.memset (%s{{.*}} update [<1, 1>]
// CHECK-NEXT: nc.tensor_copy (%s{{.*}} wait [<1, 1>]
// CHECK-NEXT: nc.return
builtin.module attributes {nc.machine = "trn1", nc.phase = "synchronised"} {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0} on dve update [<1, 1>]
    nc.tensor_copy (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) on dve wait [<1, 1>]
    nc.return
  }
}

// -----

// Constant indices become offsets, a loop of one iteration its body, and an empty loop nothing.
// CHECK-NOT:  scf.for
// CHECK:      nc.tensor_copy (%t[0:128 | 4:1 | 4]) = (%s[0:128 | 4:1 | 4]) on dve wait [<1, 5>]
// CHECK-NEXT: nc.tensor_copy (%t[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 6]) on dve
// CHECK-NOT:  nc.register_load
// CHECK:      scf.for %j
// CHECK-NEXT: nc.tensor_copy (%t[0:128 | 4:1 | 2 + 4 * %j]) = (%s[0:128 | 4:1 | 2]) on dve
builtin.module attributes {nc.machine = "trn1", nc.phase = "ordered"} {
  nc.func "main" {
    %s = nc.alloc at 0 : memref<128x16xf32, #nc.space<"sbuf">>
    %t = nc.alloc at 64 : memref<128x16xf32, #nc.space<"sbuf">>
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    nc.tensor_copy (%t[0:128 | 4:1 | 2 + 2 * %1]) = (%s[0:128 | 4:1 | 2 + 2 * %1]) on dve wait [<1, 1 + 4 * %1>]
    scf.for %i = %2 to %2 step %1 {
      nc.tensor_copy (%t[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 0]) on dve
    }
    scf.for %i = %2 to %2 step %1 {
    }
    scf.for %i = %0 to %2 step %1 {
    }
    scf.for %i = %1 to %2 step %1 {
      nc.tensor_copy (%t[0:128 | 4:1 | 0]) = (%s[0:128 | 4:1 | 4 + 2 * %i]) on dve
    }
    %r = nc.register_load () = (%s[0:1 | 1:1 | 0 as i32]) {low = 0, high = 3} -> index
    scf.for %j = %0 to %2 step %1 {
      nc.tensor_copy (%t[0:128 | 4:1 | 0 + 4 * %j + 2 * %1]) = (%s[0:128 | 4:1 | 0 + 2 * %1]) on dve
    }
    nc.return
  }
}
