"""Dump IR before and after passes, on stderr or to numbered files."""

import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir._xdsl import print_module
from neuronir.diagnostics.output import atomic_write, make_folder


@dataclass(frozen=True)
class DumpOptions:
    """The passes to dump: pass names, or `*` for every pass."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    after_change: bool = False
    after_failure: bool = False
    tree_dir: str | None = None
    elide_above: int | None = None
    debuginfo: bool = False
    generic: bool = False


def names(option: str | None) -> frozenset[str]:
    """Parse the value of --print-ir-before/after."""
    return frozenset(n.strip() for n in option.split(",")) if option else frozenset()


class Watcher(Protocol):
    """Observe the passes of a run; `index` is the number of the pass in its pipeline."""

    def before(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the start of a pass."""

    def after(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the end of a pass."""

    def failed(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the failure of a pass; the IR may be inconsistent."""


class Dumper:
    """Called before and after every pass."""

    def __init__(self, options: DumpOptions, ctx: Context) -> None:
        self.options = options
        self.ctx = ctx
        self._previous: str | None = None

    def _fingerprint(self, module: ModuleOp) -> str:
        """Equal texts mean equal modules: resources are named by their content."""
        stream = StringIO()
        print_module(module, stream, generic=True)
        return stream.getvalue()

    def _text(self, module: ModuleOp) -> str:
        stream = StringIO()
        print_module(
            module,
            stream,
            self.ctx,
            elide_above=self.options.elide_above,
            debuginfo=self.options.debuginfo,
            generic=self.options.generic,
        )
        return stream.getvalue()

    def before(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the start of a pass."""
        if self.options.before & {"*", instance.name}:
            self._dump(index, instance, module, "Before")
        if self.options.after_change:
            self._previous = self._fingerprint(module)

    def after(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the end of a pass."""
        wanted = bool(self.options.after & {"*", instance.name})
        if self.options.after_change:
            # Alone it means every pass that changed something; with names, only those among them.
            changed = self._fingerprint(module) != self._previous
            if changed and (wanted or not self.options.after):
                self._dump(index, instance, module, "After")
            elif not changed and (wanted or not self.options.after):
                self._line(f"IR Dump After {instance.name} (no change)")
        elif wanted:
            self._dump(index, instance, module, "After")

    def failed(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Handle the failure of a pass; the IR may be inconsistent."""
        if self.options.after_failure:
            self._dump(index, instance, module, "After", " Failed")

    def _line(self, text: str) -> None:
        if self.options.tree_dir is None:
            print(f"// -----// {text} //----- //", file=sys.stderr)

    def _dump(
        self, index: int, instance: ModulePass, module: ModuleOp, when: str, how: str = ""
    ) -> None:
        try:
            text = self._text(module)
        # Inconsistent IR may not be printable; the failure itself is reported elsewhere.
        except Exception as error:
            text = f"// the IR cannot be printed: {type(error).__name__}: {error}\n"
        header = f"// -----// IR Dump {when} {instance.name}{how} //----- //"
        if self.options.tree_dir is None:
            print(f"{header}\n{text}", file=sys.stderr)
            return
        name = module.sym_name.data if module.sym_name else "no-symbol-name"
        folder = Path(self.options.tree_dir) / f"builtin_module_{name}"
        make_folder(folder)
        stage = "_before" if when == "Before" else how.strip().lower() and "_failed"
        atomic_write(folder / f"{index}_{instance.name}{stage}.mlir", f"{header}\n{text}")
