"""Escape external text for terminals."""


def printable(text: str, keep: str = "") -> str:
    r"""Escape control characters, line ends, bidirectional marks and invalid bytes: ESC as `\x1b`.

    Characters in `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)
