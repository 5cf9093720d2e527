"""Tell the user's source lines from those of torch and of this package."""

import os
import re
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import Any

import torch
from torch.fx.proxy import TracerBase

from neuronir.dialects.support.errors import SourceLocation

_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+), in ', re.MULTILINE)
_OWN = (
    os.path.dirname(torch.__file__) + os.sep,
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep,
    *("<frozen ", "<string>", "<eval_with_key>"),
)
_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep


@lru_cache(4096)
def is_user_file(file: str) -> bool:
    """Return whether a source file belongs neither to torch nor Python nor to this package."""
    installed = file.removeprefix(_LIBRARY)
    ours = installed != file and not installed.startswith(("site-packages", "dist-packages"))
    return not ours and not file.startswith(_OWN)


def line_of_stack(stack: str) -> SourceLocation | None:
    """Return the innermost user line of a stack trace that torch has recorded as text."""
    own = [(file, line) for file, line in _FRAME.findall(stack) if is_user_file(file)]
    return SourceLocation(own[-1][0], int(own[-1][1]), 1) if own else None


def line_of_traceback(trace: TracebackType | None) -> SourceLocation | None:
    """Return the innermost user line that an exception has passed, below the call from here."""
    inside, found = False, None
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        inside = inside or not is_user_file(file)
        if inside and is_user_file(file):
            found = SourceLocation(file, line, 1)
    return found


@contextmanager
def user_frames() -> Iterator[None]:
    """Let nodes record every user line below the first `forward`: torch records lines of methods of
    that name only.
    """
    original = TracerBase._filter_traceback_frames

    def filtered(self: Any, summary: traceback.StackSummary) -> traceback.StackSummary:
        frames = list(summary)
        first = next((i for i, f in enumerate(frames) if f.name == "forward"), len(frames))
        own = [frame for frame in frames[first:] if is_user_file(frame.filename)]
        return traceback.StackSummary.from_list(own)

    TracerBase._filter_traceback_frames = filtered
    try:
        yield
    finally:
        TracerBase._filter_traceback_frames = original
