"""Faults planted in the sources, one at a time, and whether the tests see them.

    python -m tests.planted                 # all of faults.toml, with the tests named there
    python -m tests.planted hlo-cse-rng     # some of them; a prefix will do
    python -m tests.planted --suite         # where those see nothing, the whole fast suite too

Each fault is a replacement in one source file, put into a temporary copy of the checkout. Tests run
until one fails; a fault that none sees asks for a test.

Why no mutation tester such as mutmut or cosmic-ray: they derive mutants from syntax (`<` becomes
`<=`, a number grows by one), tens of thousands here, many of them equal in meaning, each run with
one fixed command. The faults here are those that people make (a factor left out, a check on the
wrong element), some over several tokens, each with the tests nearest to it first, and stale ones
are reported. What is left for a tool to do is to copy, to replace and to run pytest.
"""
