"""docs/errors/: one page for each error code, with its messages and an example or its causes."""

import re

from neuronir.diagnostics.codes import CODES
from tools.reference.error_conditions import CONDITIONS
from tools.reference.error_examples import EXAMPLES
from tools.reference.error_messages import messages

_SHOWN = 12
"""At most this many messages are listed."""


def error_pages() -> dict[str, str]:
    """The page of each code by file name."""
    return {f"errors/{code}.md": _page(code) for code in CODES}


def _page(code: str) -> str:
    cause, action = CODES[code]
    parts = [f"# {code}\n", f"**Cause:** {cause}.\n", f"**Action:** {action}.\n"]
    path = EXAMPLES / f"{code}.md"
    if path.exists():
        parts += ["## Example\n", path.read_text()]
    if code in CONDITIONS:
        parts += ["## When it arises\n", CONDITIONS[code] + "\n"]
    if texts := messages().get(code):
        parts += [
            "## Messages\n",
            "An ellipsis, or a name in angle brackets, stands for a value.\n",
        ]
        parts += ["\n".join(f"- {_literal(text)}" for text in texts[:_SHOWN]) + "\n"]
        if len(texts) > _SHOWN:
            parts.append(f"{len(texts) - _SHOWN} more messages have this code.\n")
    parts.append("[All error codes](../error-codes.md)\n")
    return "\n".join(parts)


def _literal(text: str) -> str:
    """A message as inline code, which may itself contain backquotes."""
    text = re.sub(r"`(\w+)`", r"<\1>", text)
    return f"`` {text} ``" if "`" in text else f"`{text}`"
