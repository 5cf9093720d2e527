"""Split a program into the stages of a pipeline over cores."""
