"""Represent layouts of values on partitions and the free axis, and what users want."""
