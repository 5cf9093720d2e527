"""Many jobs at once: compiles and simulations on Dask, one job a worker at a time."""
