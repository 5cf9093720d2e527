"""Between which numbers values lie: interval arithmetic on hlo."""
