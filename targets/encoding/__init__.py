"""Define NeuronIR's instruction encoding: encoder, decoder and disassembler from one table."""
