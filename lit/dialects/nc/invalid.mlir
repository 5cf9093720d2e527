// RUN: neuron-opt %s --split-input-file --verify-diagnostics

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<64x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' touches partitions 0 to 127 of a buffer of 64}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0 : f64}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' touches elements 4 to 11 of a buffer of 8 elements per partition}}
    nc.memset (%s[0:128 | 8:1 | 4]) = () {value = 0.0 : f64}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset: does not run on 'act' but on dve, pool}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0 : f64} on act
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.tensor_tensor: has 2 operands, its roles are dst, lhs, rhs}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) {op = "add"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.tensor_tensor: operand 'rhs' is absent but is not optional}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], none) {op = "add"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc: the memory space of memref<128x8xf32> must be #nc.space<"sbuf"> or #nc.space<"psum">}}
    %s = nc.alloc : memref<128x8xf32>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' has an empty access pattern}}
    nc.memset (%s[0:128 | 0:1 | 0]) = () {value = 0.0 : f64}
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "a" : "input" memref<64xf32, #nc.space<"hbm">> index 0
  // expected-error@+1 {{nc.variable @both: 1 members in a buffer of shape [2, 64]; each has a row}}
  nc.variable "both" : "input" memref<2x64xf32, #nc.space<"hbm">> of [@a]
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.tensor_tensor: parameter 'op' is "mult"; did you mean multiply? there is bypass, add, subtract}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0]) {op = "mult"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.tensor_tensor: parameter 'op' is absent}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0])
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset: no parameter 'fill'; there is value}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0 : f64, fill = 1 : i64}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset: parameter 'value' is no number}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = "zero"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<8x8xf32, #nc.space<"psum">>
    // expected-error@+1 {{nc.matmul: parameter 'accumulate' is 0 or 1, not 2}}
    nc.matmul (%p[0:8 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0]) {accumulate = 2 : i64}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{operand 'dst' is read as 'u17'; types are u64, i8}}
    nc.memset (%s[0:128 | 8:1 | 0 as u17]) = () {value = 0.0 : f64}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc: f64 is not a data type of a NeuronCore; supported: f32, bf16}}
    %s = nc.alloc : memref<128x8xf64, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc: the memory space of memref<128x8xf32, #nc.space<"hbm">> must be #nc.space<"sbuf"> or #nc.space<"psum">}}
    %s = nc.alloc : memref<128x8xf32, #nc.space<"hbm">>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{nc.alloc of role 'weights'; there is constant, stream, or none}}
    %s = nc.alloc "weights" : memref<128x8xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  // expected-error@+1 {{nc.variable @x is of kind 'in'; there is input, output, constant, scratch, spill}}
  nc.variable "x" : "in" memref<64xf32, #nc.space<"hbm">> index 0
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.dma: is not triggered by 'dma1' but by sp, pe, act, dve, pool}}
    nc.dma (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) on dma0 by dma1
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{nc.memset: is not a transfer, so no engine can trigger it}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0 : f64} on dve by sp
    nc.return
  }
}
