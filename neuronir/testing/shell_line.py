"""The small part of shell syntax that almost every RUN line keeps to."""

import shlex
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Redirection:
    """`>name`, `2>name`, `>>name`; without a name `2>&1`. Their order matters."""

    stream: int
    name: str | None
    append: bool = False


@dataclass
class Command:
    """One command of a pipeline."""

    words: list[str] = field(default_factory=list)
    stdin: str | None = None
    redirections: list[Redirection] = field(default_factory=list)


# Anything with one of these is left to lit's own shell.
_FOREIGN = set("`$(){}*?[]!~")


def parse_line(line: str) -> list[list[Command]] | None:
    """Return the pipelines that `&&` joins, or None when the line needs a real shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    raw = _unquoted(line)
    if raw is None or _FOREIGN & set(raw) or ";" in raw:
        return None
    pipelines: list[list[Command]] = [[Command()]]
    position = 0
    while position < len(tokens):
        command = pipelines[-1][-1]
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        if token == "|":
            pipelines[-1].append(Command())
        elif token == "&&":
            pipelines.append([Command()])
        elif token in (">", ">>", "<", ">&"):
            stream = _take_descriptor(command)
            if following is None:
                return None
            if token == ">&":
                if stream != "2" or following != "1":
                    return None
                command.redirections.append(Redirection(2, None))
            elif token == "<":
                command.stdin = following
            else:
                command.redirections.append(Redirection(int(stream), following, token == ">>"))
            position += 1
        elif set(token) <= set("|&;<>"):
            return None
        else:
            command.words.append(token)
        position += 1
    if any(not c.words or "=" in c.words[0] for p in pipelines for c in p):
        return None
    return pipelines


def _take_descriptor(command: Command) -> str:
    """Return the `2` of `2>`, which the lexer gives as a word before the operator."""
    if command.words and command.words[-1] in ("1", "2"):
        return command.words.pop()
    return "1"


def _unquoted(line: str) -> str | None:
    """Return the characters outside quotes; None when a quote stays open."""
    kept: list[str] = []
    quote = ""
    for character in line:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            kept.append(character)
    return None if quote else "".join(kept)
