"""Published kernels of one NeuronCore-v2, rebuilt as nc programs, against their measured times."""
