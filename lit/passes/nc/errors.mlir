// RUN: not neuron-opt %s -p @nc-order 2>&1 | filecheck %s --check-prefix=MACHINE
// RUN: not neuron-opt %s -p nc-allocate 2>&1 | filecheck %s --check-prefix=PHASE
// MACHINE: [NIR_NC001] the module does not name its machine
// PHASE: [NIR_NC002] nc-allocate takes a module in phase ordered, this one is 'virtual'

builtin.module {
  nc.func "main" {
    nc.return
  }
}
