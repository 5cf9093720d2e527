"""Rewrite rules of hlo-canonicalize, a file per op family; each file exports RULES by op name."""
