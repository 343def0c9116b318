"""``python -m tools.fuzz``: see the package."""

from __future__ import annotations

import argparse
import sys
import time

from tools.fuzz.readers import readers
from tools.fuzz.running import bounded, tried


def main() -> int:
    """Feed every reader, and say what became of it."""
    parser = argparse.ArgumentParser(description="Feed damaged files to every reader.")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all readers together")
    parser.add_argument("--cases", type=int, default=0, help="of each reader, instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose names begin with one of these")
    given = parser.parse_args()
    wanted = tuple(given.only.split(","))
    chosen = [reader for reader in readers() if reader.name.startswith(wanted)]
    share = 60 * given.minutes / max(len(chosen), 1)
    failed = 0
    for reader in chosen:
        start = time.monotonic()

        def more(at: int, start: float = start) -> bool:
            return at < given.cases if given.cases else time.monotonic() - start < share

        with bounded():
            outcome = tried(reader, given.seed, more)
        failed += len(outcome.failures)
        seconds = time.monotonic() - start
        print(f"{reader.name:22} {dict(outcome.said)} in {seconds:.1f} s", flush=True)
        kinds = {failure.strip().rpartition("\n")[2][:60]: failure for failure in outcome.failures}
        print(*list(kinds.values())[:5], sep="\n", end="\n" if kinds else "")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
