"""A generator of random HLO programs over all op families, judged by XLA's CPU backend."""
