"""lower-tile-to-nc: lower tiles with layouts to instructions, one rule per op."""
