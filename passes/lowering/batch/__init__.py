"""Slice the batch into parallel strands or sequential tiles."""
