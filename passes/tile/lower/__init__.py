"""lower-tile-to-nc: from tiles in layouts to instructions, one rule an op."""
