"""The functional and timing simulator."""
