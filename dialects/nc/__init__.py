"""The NeuronCore dialect: memory, instructions and their meaning."""
