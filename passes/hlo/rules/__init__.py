"""Rewrite rules of hlo-canonicalize, one file per op family; each exports RULES by op name."""
