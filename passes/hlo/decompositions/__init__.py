"""Decompose hlo ops into simpler ones, one file per family; each exports RULES by opcode."""
