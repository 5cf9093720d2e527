// The rules of the machine hold for every instruction, whoever wrote it.
// RUN: not neuron-opt %s -p nc-verify-machine 2>&1 | filecheck %s

// CHECK: toy1 has no act engine
builtin.module attributes {nc.machine = "toy1", neuronir.phase = "virtual"} {
  nc.func "main" {
    %x = nc.alloc : memref<64x8xf32, #nc.space<"sbuf">>
    nc.memset (%x[0:64 | 8:1 | 0]) = () {value = 0.0} on dve
    nc.activation (%x[0:64 | 8:1 | 0], none) = (%x[0:64 | 8:1 | 0], none, none) {func = "relu"} on act
    nc.return
  }
}
