// The limits of machines, one after the other.

// RUN: neuron-opt %s -p nc-verify-machine --split-input-file --verify-diagnostics

builtin.module attributes {nc.machine = "inf1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset (pool): inf1 has no pool engine}}
    nc.memset (%a[0:128 | 8:1 | 0]) = () {value = 0.0} on pool
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %p = nc.alloc : memref<128x8xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'dst': pool cannot write PSUM, only SBUF}}
    nc.memset (%p[0:128 | 8:1 | 0]) = () {value = 0.0} on pool
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x128xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst': pe cannot write SBUF, only PSUM}}
    nc.transpose (%a[0:128 | 128:1 | 0]) = (%a[0:128 | 128:1 | 0]) on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "inf1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x8xf8E4M3, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst': inf1 has no data type f8e4m3}}
    nc.memset (%a[0:128 | 8:1 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc of 129 partitions in SBUF; there are 128}}
    %a = nc.alloc : memref<129x8xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x32xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' has 5 free dims; the limit is 4}}
    nc.memset (%a[0:128 | 2:16, 2:8, 2:4, 2:2, 2:1 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x4096xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'dst' has 8192 elements per partition; the limit in PSUM is 4096}}
    nc.memset (%a[0:128 | 4096:1, 2:0 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "inf1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x8xbf16, #nc.space<"sbuf">>
    // expected-error@+1 {{DMA of inf1 cannot convert f32 to bf16}}
    nc.dma (%b[0:128 | 8:1 | 0]) = (%a[0:128 | 8:1 | 0]) on dma1 by sp
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x129xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x128xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'src' has 129 columns; the limit is 128}}
    nc.transpose (%p[0:128 | 128:1 | 0]) = (%a[0:128 | 129:1 | 0]) on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'stationary' has 128 partitions and operand 'moving' 64: they are contracted and must be equal}}
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:64 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "inf1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'stationary' is f32; matmuls of inf1 take bf16}}
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xbf16, #nc.space<"psum">>
    // expected-error@+1 {{operand 'dst' is bf16; matmuls accumulate in f32}}
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x1024xf32, #nc.space<"psum">>
    // expected-error@+1 {{operand 'dst' spans 2272 bytes; a PSUM bank has 2048}}
    nc.matmul (%p[0:64 | 64:9 | 0]) = (%a[0:128 | 64:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'src' has 7 elements; the limits are 8 and 16384}}
    nc.max8 (%b[0:128 | 8:1 | 0]) = (%a[0:128 | 7:1 | 0]) on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<64x32xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<32x32xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'src' has 64 partitions; the limit is 32}}
    nc.transpose_dve (%b[0:32 | 32:1 | 0]) = (%a[0:64 | 32:1 | 0]) on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{uses semaphore 999; trn1 has}}
    nc.memset (%a[0:128 | 8:1 | 0]) = () {value = 0.0} on dve update [<999, 1>]
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.func "main" {
    %a = nc.alloc at 180200 : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset (dve): touches bytes 180200 to 180231 of SBUF, which has 180224 per partition}}
    nc.memset (%a[0:128 | 8:1 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x16xf32, #nc.space<"sbuf">>
    nc.dma (%a[0:128 | 8:1 | 0]) = (%a[0:128 | 8:1 | 8]) on dma1 by sp
    // expected-error@+1 {{is started by pool}}
    nc.dma (%a[0:128 | 8:1 | 0]) = (%a[0:128 | 8:1 | 8]) on dma1 by pool
    nc.return
  }
}
