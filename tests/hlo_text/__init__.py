"""The HLO text frontend."""
