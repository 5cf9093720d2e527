"""Tests of the nc passes."""
