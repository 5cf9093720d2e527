"""Tests of costs, the timing model and the reports."""
