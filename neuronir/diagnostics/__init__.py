"""Report messages to users: located messages, expected-message checks, safe output files."""
