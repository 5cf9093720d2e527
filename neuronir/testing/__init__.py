"""Help for tests, ours and those of plugins: lit tests that run in one process."""
