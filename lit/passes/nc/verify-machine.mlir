// RUN: neuron-opt %s -p nc-verify-machine --split-input-file --verify-diagnostics

// expected-error@unknown {{operand 'dst' starts at partition 16; 32 partitions may start at 0, 32, 64, 96}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.memset (%a[16:32 | 64:1 | 0]) = () {value = 0.0 : f64} on dve
    nc.return
  }
}

// -----

// expected-error@unknown {{operand 'moving' has 513 columns; the limit is 512}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x640xf32, #nc.space<"psum">>
    nc.matmul (%p[0:128 | 513:1 | 0]) = (%a[0:128 | 128:1 | 0], %a[0:128 | 513:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

// expected-error@unknown {{operand 'stationary' has 129 columns; the limit is 128}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x512xf32, #nc.space<"psum">>
    nc.matmul (%p[0:128 | 64:1 | 0]) = (%a[0:128 | 129:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

// expected-error@unknown {{operand 'dst' lies in PSUM banks 0 and 1: it must be in one}}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.func "main" {
    %a = nc.alloc at 0 : i64 : memref<128x640xbf16, #nc.space<"sbuf">>
    %p = nc.alloc at 0 : i64 : memref<128x1024xf32, #nc.space<"psum">>
    nc.matmul (%p[0:128 | 64:1 | 480]) = (%a[0:128 | 128:1 | 0], %a[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

// expected-error@unknown {{operand 'src': pool cannot read PSUM, only SBUF}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    nc.tensor_copy (%a[0:128 | 64:1 | 0]) = (%p[0:128 | 64:1 | 0]) on pool
    nc.return
  }
}

// -----

// expected-error@unknown {{tensor_tensor reads two operands from PSUM; at most one may lie there}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    nc.tensor_tensor (%a[0:128 | 64:1 | 0]) = (%p[0:128 | 64:1 | 0], %p[0:128 | 64:1 | 0]) {op = "add"} on dve
    nc.return
  }
}

// -----

// expected-error@unknown {{nc.alloc at 1024 of 2048 bytes crosses from PSUM bank 0 to 1}}
builtin.module attributes {nc.machine = "trn1", neuronir.phase = "allocated"} {
  nc.func "main" {
    %p = nc.alloc at 1024 : i64 : memref<128x512xf32, #nc.space<"psum">>
    nc.return
  }
}

// -----

// expected-error@unknown {{nc.alloc of 200000 bytes per partition in SBUF; there are 180224}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %p = nc.alloc : memref<128x50000xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

// expected-error@unknown {{matmul of f32 with bf16: fp32 and tf32 go only with each other}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    %b = nc.alloc : memref<128x64xbf16, #nc.space<"sbuf">>
    %p = nc.alloc : memref<128x64xf32, #nc.space<"psum">>
    nc.matmul (%p[0:64 | 64:1 | 0]) = (%a[0:128 | 64:1 | 0], %b[0:128 | 64:1 | 0]) {accumulate = 0} on pe
    nc.return
  }
}

// -----

// expected-error@unknown {{bn_stats of 600 elements; the limit is 512}}
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x600xf32, #nc.space<"sbuf">>
    %s = nc.alloc : memref<128x6xf32, #nc.space<"sbuf">>
    nc.bn_stats (%s[0:128 | 6:1 | 0]) = (%a[0:128 | 600:1 | 0]) on dve
    nc.return
  }
}
