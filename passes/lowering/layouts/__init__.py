"""Layouts of values: how a tensor lies on partitions and the free axis, and what users want."""
