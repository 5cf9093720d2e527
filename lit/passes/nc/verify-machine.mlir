// RUN: neuron-opt %s -p nc-verify-machine --split-input-file --verify-diagnostics

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' starts at partition 16; 32 partitions may start at 0, 32, 64, 96}}
    nc.memset (%a[16:32 | 64:1 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x640xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'moving' has 513 columns; the limit is 512}}
    nc.matmul (%p[0:128 | 513:1 | 0]) = (%a[0:128 | 128:1 | 0], %a[0:128 | 513:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'stationary' has 129 columns; the limit is 128}}
    nc.matmul (%p[0:128 | 64:1 | 0]) = (%a[0:128 | 129:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.func "main" {
    %a = nc.alloc at 0 : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc at 0 : memref<128x1024xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'dst' is in PSUM banks 0 and 1: it must be in one}}
    nc.matmul (%p[0:128 | 64:1 | 480]) = (%a[0:128 | 128:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'src': pool cannot read PSUM, only SBUF}}
    nc.tensor_copy (%a[0:128 | 64:1 | 0]) = (%p[0:128 | 64:1 | 0]) on pool
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    // expected-error@+1 {{nc.tensor_tensor (dve): two operands are in PSUM; at most one may be}}
    nc.tensor_tensor (%a[0:128 | 64:1 | 0]) = (%p[0:128 | 64:1 | 0], %p[0:128 | 64:1 | 0]) {op = "add"} on dve
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc at 1024 of 2048 bytes crosses from PSUM bank 0 to 1}}
    %p = nc.alloc at 1024 : memref<128x512xf32, #nc.space<"psum">>
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc of 200000 bytes per partition in SBUF; there are 180224}}
    %p = nc.alloc : memref<128x50000xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    // expected-error@+1 {{nc.matmul (pe): operands are f32 and bf16: f32 and tf32 can be multiplied only with each other}}
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %b[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x600xf32, #nc.space<"sbuf">>
    %s = nc.alloc : memref<128x6xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.bn_stats (dve): operand 'src' has 600 elements; the limit is 512}}
    nc.bn_stats (%s[0:128 | 6:1 | 0]) = (%a[0:128 | 600:1 | 0]) on dve
    nc.return
  }
}
// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.tensor_copy (dve): operand 'src' is 128 x 32, expected 128 x 64 (partitions x elements)}}
    nc.tensor_copy (%a[0:128 | 64:1 | 0]) = (%a[0:128 | 32:1 | 0]) on dve
    nc.return
  }
}
// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "x" : "input" memref<128x64xf32, #nc.space<"hbm">> index 0
  nc.func "main" {
    %x = nc.address_of @x : memref<128x64xf32, #nc.space<"hbm">>
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.dma (no engine yet): touches bytes 256 to 33023 of variable @x of 32768 bytes}}
    nc.dma (%a[0:128 | 64:1 | 0]) = (%x[0:128 * 64 | 64:1 | 64])
    nc.return
  }
}
// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %zero = arith.constant 0 : index
    %trips = arith.constant 5 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %trips step %one {
      // expected-error@+1 {{nc.memset (no engine yet): touches bytes 0 to 319 of a buffer of 256 bytes per partition}}
      nc.memset (%a[0:128 | 16:1 | 0 + 16 * %i]) = () {value = 0.0}
    }
    nc.return
  }
}
// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xi32, #nc.space<"sbuf">>
    // expected-error@+1 {{a scan computes in fp32; bitwise_xor works on bits}}
    nc.tensor_tensor_scan (%a[0:128 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0], none) {op0 = "add", op1 = "bitwise_xor"}
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 32:1 | 0]) = (%b[0:128 | 32:1 | 0]) on dma3 by act
    // expected-error@+1 {{is started by sp, as others of dma3 are by act: a queue belongs to one engine}}
    nc.dma (%a[0:128 | 32:1 | 32]) = (%b[0:128 | 32:1 | 0]) on dma3
    nc.return
  }
}

// -----


builtin.module attributes {nc.machine = "inf1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{inf1 has no pool engine to start a transfer}}
    nc.dma (%a[0:128 | 32:1 | 0]) = (%a[0:128 | 32:1 | 32]) on dma3 by pool
    nc.return
  }
}
