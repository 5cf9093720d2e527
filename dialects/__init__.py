"""Define the IR: the hlo, tile and nc dialects and their semantics in numpy."""
