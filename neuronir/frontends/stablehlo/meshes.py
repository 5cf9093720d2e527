"""Read the axes of meshes of devices (`["x"=2, "y"=1]`) from the text of sdy attributes."""

import re

_AXIS = re.compile(r'"([^"]*)"\s*=\s*(\d+)')
_NAME = re.compile(r'"([^"]*)"')
_USED = re.compile(r'@(?:"([^"]*)"|([\w$.\-]+))')


def axes_of(text: str) -> dict[str, int]:
    """Return the axes that a text defines, with their sizes."""
    return {name: int(size) for name, size in _AXIS.findall(text)}


def names_of(text: str) -> list[str]:
    """Return the names in quotes of `{"x", "y"}`."""
    return _NAME.findall(text)


def meshes_of(text: str) -> list[str]:
    """Return the names of the meshes that a text refers to (`@mesh`)."""
    return [quoted or plain for quoted, plain in _USED.findall(text)]
