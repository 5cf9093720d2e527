// RUN: neuron-opt %s --split-input-file --verify-diagnostics

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<64x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op operand 'dst' touches partitions 0 to 127 of a buffer of 64}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op operand 'dst' touches elements 4 to 11 of a buffer of 8 elements per partition}}
    nc.memset (%s[0:128 | 8:1 | 4]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op does not run on 'act' but on dve, pool}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0} on act
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_tensor' op has 2 operands for the roles dst, lhs, rhs}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) {op = "add"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_tensor' op operand 'rhs' is absent but is not optional}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], none) {op = "add"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op must be a memref in sbuf or psum, is memref<128x8xf32>}}
    %s = nc.alloc : memref<128x8xf32>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op operand 'dst' has an empty access pattern}}
    nc.memset (%s[0:128 | 0:1 | 0]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "a" : "input" memref<64xf32, #nc.space<"hbm">> index 0
  // expected-error@+1 {{'nc.variable' op @both has 1 members and the shape [2, 64]; each member has a row}}
  nc.variable "both" : "input" memref<2x64xf32, #nc.space<"hbm">> of [@a]
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_tensor' op parameter 'op' is "mult"; did you mean multiply? values are bypass, add, subtract}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0]) {op = "mult"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_tensor' op parameter 'op' is absent}}
    nc.tensor_tensor (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0])
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op has no parameter 'fill'; parameters are value}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0, fill = 1}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op parameter 'value' is not a number}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = "zero"}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    %p = nc.alloc : memref<8x8xf32, #nc.space<"psum">>
    // expected-error@+1 {{'nc.matmul' op parameter 'accumulate' must be 0 or 1, not 2}}
    nc.matmul (%p[0:8 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0], %s[0:128 | 8:1 | 0]) {accumulate = 2}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op operand 'dst' is read as 'u17'; types are u64, i8}}
    nc.memset (%s[0:128 | 8:1 | 0 as u17]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op f64 is not a data type of a NeuronCore; supported: f32, bf16}}
    %s = nc.alloc : memref<128x8xf64, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op must be a memref in sbuf or psum, is memref<128x8xf32, #nc.space<"hbm">>}}
    %s = nc.alloc : memref<128x8xf32, #nc.space<"hbm">>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op has the role 'weights'; roles are constant, stream, or none}}
    %s = nc.alloc "weights" : memref<128x8xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  // expected-error@+1 {{'nc.variable' op @x has the kind 'in'; kinds are input, output, constant, scratch, spill}}
  nc.variable "x" : "in" memref<64xf32, #nc.space<"hbm">> index 0
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.dma' op is not triggered by 'dma1' but by sp, pe, act, dve, pool}}
    nc.dma (%s[0:128 | 8:1 | 0]) = (%s[0:128 | 8:1 | 0]) on dma0 by dma1
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.memset' op is not a transfer, so no engine can trigger it}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0} on dve by sp
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_copy' op has 2 access patterns for 1 buffers}}
    "nc.tensor_copy"(%s) <{patterns = [#nc.ap<0:128 | 8:1 | 0>, #nc.ap<0:128 | 8:1 | 0>], params = {}, operandSegmentSizes = array<i32: 1, 0>}> : (memref<128x8xf32, #nc.space<"sbuf">>) -> ()
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
  ^bb0(%s : memref<128x8xf32>):
    // expected-error@+1 {{'nc.memset' op operand 'dst' is not a memref with an nc.space}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{'nc.tensor_reduce' op parameter 'axes' is not an integer: 1.000000e+00 : f64}}
    nc.tensor_reduce (%s[0:128 | 1:1 | 0]) = (%s[0:128 | 8:1 | 0]) {op = "add", axes = 1.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op the shape of memref<128x?xf32, #nc.space<"sbuf">> is not static}}
    %s = nc.alloc : memref<128x?xf32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op memref<f32, #nc.space<"sbuf">> has no partition dimension}}
    %s = nc.alloc : memref<f32, #nc.space<"sbuf">>
    nc.return
  }
}

// -----

builtin.module {
  // expected-error@+1 {{'nc.variable' op the memory space of memref<64xf32, #nc.space<"sbuf">> must be #nc.space<"hbm">}}
  nc.variable "x" : "input" memref<64xf32, #nc.space<"sbuf">> index 0
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{SSA value used before assignment}}
    nc.memset (%s[0:128 | 8:1 | 0]) = () {value = 0.0}
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    %s = nc.alloc : memref<128x8xf32, #nc.space<"sbuf">>
    // expected-error@+1 {{expected an index operand}}
    "nc.memset"(%s) <{patterns = [#nc.ap<0:128 | 8:1 | 0 + 1 * %s>], params = {value = 0.0 : f64}, operandSegmentSizes = array<i32: 1, 0>}> : (memref<128x8xf32, #nc.space<"sbuf">>) -> ()
    nc.return
  }
}

// -----

builtin.module {
  nc.func "main" {
    // expected-error@+1 {{'nc.alloc' op must be a memref in sbuf or psum, is i32}}
    %s = nc.alloc at 0 : i32 : memref<128x8xf32, #nc.space<"sbuf">>
    nc.return
  }
}
