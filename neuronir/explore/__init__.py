"""Show the IR of a compile before and after each pass, as a page or in the terminal."""
