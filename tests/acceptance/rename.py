"""The same HLO text under other names, and without its metadata."""

import re

_METADATA = re.compile(r",\s*metadata=\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}")
_DEFINED = re.compile(r"^\s*(?:ROOT |ENTRY )?%?([\w.\-]+)(?: = | (?:\([^{]*)?\{)", re.MULTILINE)
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[A-Za-z_][\w.\-]*")


def without_metadata(text: str) -> str:
    """No instruction says where it came from."""
    return _METADATA.sub("", text)


def renamed(text: str) -> str:
    """Each computation and instruction under another name, in the reverse alphabetical order."""
    header, _, body = text.partition("\n")
    names = sorted(set(_DEFINED.findall(body)), reverse=True)
    width = len(str(len(names)))
    fresh = {name: f"n{number:0{width}}.1" for number, name in enumerate(names)}

    def replace(match: re.Match[str]) -> str:
        token = match[0]
        # A token in front of a bracket is an opcode, whatever the instruction is called.
        if token not in fresh or body.startswith("(", match.end()):
            return token
        return fresh[token]

    header = re.sub(r"^HloModule [\w.\-]+", "HloModule another", header)
    return f"{header}\n{_TOKEN.sub(replace, body)}"
