"""Decompositions of hlo ops into simpler ones, a file per family; each exports RULES by opcode."""
