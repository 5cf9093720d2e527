"""What the IR means: the hlo and nc dialects and their numpy semantics."""
