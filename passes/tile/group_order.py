"""Keep the groups of a block in an order in which each follows those that it reads.

The order tells which groups can lie between two others, without a walk over the whole block. It is
changed where groups are fused, only between their old places.
"""

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from neuronir.passes.tile.group import is_view

INSERT = "tensor.insert_slice"

Members = frozenset[Operation]


class GroupOrder:
    """Groups of ops, at first one for each; `members` is the group of each op."""

    def __init__(self, nodes: Sequence[Operation]) -> None:
        """Create a group for each of `nodes`, which are in program order."""
        self.members: dict[Operation, Members] = {op: frozenset((op,)) for op in nodes}
        self._at: list[Members | None] = list(self.members.values())
        self._place = {group: i for i, group in enumerate(self.members.values())}
        self._users: dict[Operation, tuple[Operation, ...]] = {}
        self._makers: dict[Operation, list[Operation]] = {}
        self._readers: dict[Members, list[Members]] = {}

    def between(self, left: Members, right: Members) -> list[Members]:
        """Return the groups that read the first group and are read by the second, in order."""
        makers = self._reached(left, right)
        found: set[Members] = set()
        work = list(makers.get(right, ()))
        while work:
            group = work.pop()
            if group is not left and group not in found:
                found.add(group)
                work += makers[group]
        return sorted(found, key=self._place.__getitem__)

    def fuse(self, parts: Sequence[Members], both: Members) -> None:
        """Replace groups by their union: the first, those between it and the last, and the last."""
        low, high = self._place[parts[0]], self._place[parts[-1]]
        fused, behind = set(parts), self._reached(parts[0], parts[-1])
        window = [g for g in self._at[low : high + 1] if g is not None and g not in fused]
        first = [g for g in window if g not in behind]
        last = [g for g in window if g in behind]
        gap = [None] * (high - low - len(window))
        self._at[low : high + 1] = [*first, *gap, both, *last]
        for part in parts:
            del self._place[part]
            self._readers.pop(part, None)
        for i in range(low, high + 1):
            group = self._at[i]
            if group is not None:
                self._place[group] = i
        for op in both:
            self.members[op] = both
        for op in both:
            for maker in self._makers.get(op, ()):
                self._readers.pop(self.members[maker], None)

    def _reached(self, left: Members, right: Members) -> dict[Members, list[Members]]:
        """Return the groups up to `right` that depend on `left`, each with those of them and `left`
        that it reads.
        """
        end = self._place[right]
        makers: dict[Members, list[Members]] = {}
        work = [left]
        while work:
            group = work.pop()
            for after in self._readers_of(group):
                if self._place[after] > end:
                    continue
                if after not in makers:
                    makers[after] = []
                    if after is not right:
                        work.append(after)
                makers[after].append(group)
        return makers

    def _readers_of(self, group: Members) -> list[Members]:
        """Return the groups that read a group; remembered until one of them is fused."""
        found = self._readers.get(group)
        if found is None:
            users = dict.fromkeys(user for op in group for user in self._users_of(op))
            found = list(dict.fromkeys(self.members[u] for u in users if u not in group))
            self._readers[group] = found
        return found

    def _users_of(self, op: Operation) -> tuple[Operation, ...]:
        found = self._users.get(op)
        if found is None:
            found = self._users[op] = tuple(dict.fromkeys(self._uses(op)))
            for user in found:
                self._makers.setdefault(user, []).append(op)
        return found

    def _uses(self, op: Operation) -> Iterator[Operation]:
        """Yield the ops in groups that read an op or its views."""
        work = [use.operation for r in op.results for use in r.uses]
        while work:
            user = work.pop()
            if user in self.members:
                yield user
            elif is_view(user) or user.name == INSERT:
                work.extend(use.operation for r in user.results for use in r.uses)
