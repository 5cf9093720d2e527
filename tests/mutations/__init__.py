"""Faults in whole models that a comparison of results must see: what a program lost or left out."""
