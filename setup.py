"""Put the three folders of the floors into the package, where an archive has no links to them."""

import shutil
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent

for _name in ("dialects", "passes", "targets"):
    _link = ROOT / "neuronir" / _name
    if (_link / "__init__.py").is_file():
        continue
    if (ROOT / ".git").exists():  # a copy would part from the folder that is edited
        raise SystemExit(f"neuronir/{_name} is not a folder: clone with core.symlinks=true")
    _link.unlink(missing_ok=True)  # a zip archive holds the target of the link as text
    try:
        _link.symlink_to(f"../{_name}", target_is_directory=True)
    except OSError:  # Windows, without the right to create links
        shutil.copytree(ROOT / _name, _link)
setup()
