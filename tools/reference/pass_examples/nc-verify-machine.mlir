// neuron-opt -p nc-verify-machine
builtin.module attributes {nc.machine = "trn1"} {
  nc.func "main" {
    %a = nc.alloc : memref<128x64xf32, #nc.space<"sbuf">>
    nc.memset (%a[16:32 | 64:1 | 0]) = () {value = 0.0} on dve
    nc.return
  }
}
