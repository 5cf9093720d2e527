"""Compute 32-bit integers on machines whose vector engines compute in fp32."""
