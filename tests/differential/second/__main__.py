"""Run random programs: `python -m tests.differential.second --seeds 0:1000 --target all`."""

import argparse
import itertools
import json
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.differential.second.generate import BUILDS, Build, build
from tests.differential.second.judge import Configuration, Outcome, judge
from tests.differential.second.oracle import values
from tests.differential.shrink import Choices

TARGETS, CASTS, OPTLEVELS = ("trn1", "inf1"), ("none", "matmult"), (2, 1, 3)
EVERY = [Configuration(*c) for c in itertools.product(TARGETS, CASTS, OPTLEVELS)]
BAD = ("wrong", "crash", "slow")


def spread(seed: int, chosen: Sequence[Configuration]) -> Configuration:
    """The configuration of a seed: two of three programs for the first target named."""
    first = [c for c in chosen if c.target == chosen[0].target]
    pool = chosen if seed % 3 == 0 else first
    return pool[(seed // 3) % len(pool)]


def outcomes(
    seeds: Sequence[int],
    chosen: Sequence[Configuration],
    everywhere: bool = False,
    without: Sequence[str] = (),
    build: Build = build,
) -> Iterator[tuple[int, Configuration, Outcome]]:
    """What becomes of each seed but those whose program has a word of `without`; with `everywhere`
    a bad one is tried in the other configurations too."""
    for seed in seeds:
        one = build(Choices(seed=seed), seed)
        if not one.roots:
            continue
        text = one.text()
        if any(word in text for word in without):
            continue
        try:
            found = values(one)
        except Exception as error:
            lines = str(error).splitlines()
            yield seed, chosen[0], Outcome("oracle", " ".join(lines[:3])[:200])
            continue
        first = spread(seed, chosen)
        outcome = judge(one, first, found)
        yield seed, first, outcome
        if everywhere and outcome.kind in BAD:
            for other in chosen:
                if other != first:
                    yield seed, other, judge(one, other, found)


def logged(log: Path | None) -> set[int]:
    """The seeds whose outcome a log has."""
    if log is None or not log.exists():
        return set()
    return {json.loads(line)["seed"] for line in log.read_text().splitlines()}


def write(log: Path, seed: int, configuration: Configuration, outcome: Outcome) -> None:
    """Append an outcome to a log."""
    row = {
        "seed": seed,
        "configuration": str(configuration),
        "kind": outcome.kind,
        "cause": outcome.cause,
        "seconds": round(outcome.seconds, 2),
    }
    with log.open("a") as file:
        file.write(json.dumps(row) + "\n")


def main(words: Sequence[str] | None = None) -> int:
    """Print the outcomes that are not right, then counts; status 1 where a result is wrong."""
    parser = argparse.ArgumentParser(prog="tests.differential.second", description=__doc__)
    parser.add_argument("--seeds", default="0:100", metavar="A:B", help="default 0:100")
    parser.add_argument("--kind", default="all", choices=BUILDS, help="kind of programs")
    parser.add_argument("--target", default="all", help="trn1, inf1 or all")
    parser.add_argument("--cast", default="all", help="none, matmult or all")
    parser.add_argument("--optlevel", default="all", help="1, 2, 3 or all")
    parser.add_argument("--tiling", default="auto", help="of trn1: auto, always or never")
    parser.add_argument(
        "--room",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of SBUF for tile-fuse, such as 0.002: loops over tiles in small programs",
    )
    parser.add_argument("--everywhere", action="store_true", help="bad seeds: try all of them")
    parser.add_argument("--without", default="", help="leave programs with one of these words out")
    parser.add_argument("--refused", action="store_true", help="print what is refused")
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="append each outcome to this file as a line of JSON, and skip the seeds it has",
    )
    parser.add_argument("--show", action="store_true", help="print the programs and details")
    parser.add_argument("--minimise", action="store_true", help="shrink each bad program")
    args = parser.parse_args(words)
    low, high = map(int, args.seeds.split(":"))
    chosen = [
        replace(c, tiling=args.tiling, room=args.room) if c.target == "trn1" else c
        for c in EVERY
        if args.target in ("all", c.target)
        and args.cast in ("all", c.cast)
        and args.optlevel in ("all", str(c.optlevel))
    ]
    warnings.simplefilter("ignore")
    counts: dict[Configuration, Counter[str]] = defaultdict(Counter)
    codes: Counter[str] = Counter()
    began = time.process_time()
    known = logged(args.log)
    for seed, configuration, outcome in outcomes(
        [seed for seed in range(low, high) if seed not in known],
        chosen,
        args.everywhere,
        [w for w in args.without.split(",") if w],
        BUILDS[args.kind],
    ):
        counts[configuration][outcome.kind] += 1
        if args.log is not None:
            write(args.log, seed, configuration, outcome)
        if outcome.kind == "refused":
            codes[f"{configuration.target} {outcome.cause}"] += 1
        if outcome.kind not in ("right", "refused") or (args.refused and outcome.kind != "right"):
            seconds = f" {outcome.seconds:.1f} s" if outcome.kind == "slow" else ""
            detail = outcome.detail if outcome.kind == "refused" else outcome.cause
            line = " ".join(detail.split())[:400]
            print(f"{seed} {configuration} {outcome.kind}{seconds}: {line}", flush=True)
            if args.show:
                print(BUILDS[args.kind](Choices(seed=seed), seed).text(), outcome.detail, sep="\n")
            if args.minimise and outcome.kind in BAD:
                from tests.differential.second.minimise import minimise

                small = minimise(seed, configuration, outcome, build=BUILDS[args.kind])
                print(small.text(), judge(small, configuration).detail, sep="\n", flush=True)
    total: Counter[str] = Counter()
    for configuration in sorted(counts, key=str):
        total.update(counts[configuration])
        shown = ", ".join(f"{n} {kind}" for kind, n in sorted(counts[configuration].items()))
        print(f"{configuration}: {shown}")
    print("all:", ", ".join(f"{n} {kind}" for kind, n in sorted(total.items())))
    for code, n in codes.most_common():
        print(f"  refused: {n} {code}")
    print(f"{time.process_time() - began:.0f} s of processor time")
    return 1 if any(total[kind] for kind in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
