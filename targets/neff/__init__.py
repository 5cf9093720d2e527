"""The NEFF-style container: header, writer, reader. See docs/neff.md."""
