"""Represent layouts of values on partitions and the free axis, and the layouts that users want."""
