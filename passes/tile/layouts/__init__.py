"""Which layout each value of the tiled level has: candidates, costs, and the choice."""
