"""Pack compile-time constants into chunks of the weight stream, layer by layer."""
