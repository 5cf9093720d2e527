"""Assign layouts at the tiled level: candidates, costs, and the choice."""
