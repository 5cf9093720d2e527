"""How the programs talk to people: located messages, expected-message checks, safe output files."""
