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
    %s = nc.alloc : memref<128x8xf32>
    // expected-error@+1 {{operand 'dst' is not a memref with an nc.space}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0 : f64}
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
