"""Decompositions of hlo ops into simpler hlo ops, a file per family; each exports RULES by opcode."""
