"""The target `toy1`: one matmul engine, one vector engine, 1 MiB of scratchpad."""
