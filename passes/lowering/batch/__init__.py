"""Slices of the batch: strands beside each other, tiles one after the other."""
