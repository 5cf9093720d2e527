"""What the hlo passes share: reading values, building ops, walking blocks."""
