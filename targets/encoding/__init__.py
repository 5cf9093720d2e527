"""NeuronIR's own instruction encoding: encoder, decoder and disassembler from one table."""
