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
