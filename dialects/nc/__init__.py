"""The NeuronCore dialect: memory, instructions and their semantics."""
