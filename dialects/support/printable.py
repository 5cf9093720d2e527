"""Text of others on a terminal."""


def printable(text: str, keep: str = "") -> str:
    """The text with what a terminal would act on (escapes, line ends, marks of writing direction,
    bytes that are no text) written as escapes, such as \\x1b; characters of `keep` stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)
