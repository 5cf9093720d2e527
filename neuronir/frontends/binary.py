"""Tell text from binary files."""


def is_binary(data: bytes) -> bool:
    """Whether a file cannot be text: control characters are among its first bytes."""
    return any(byte < 9 or 13 < byte < 32 for byte in data[:4096])
