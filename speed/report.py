"""Tables of a benchmark in Markdown, and the machine that it ran on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from measure import Limits, Run

REFERENCE = "pycocotools"
NONE = "–"
ASK_VERSIONS = """
import importlib.metadata as m, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps(found))
"""


def machine(limits: Limits, contenders: Iterable[str]) -> dict[str, object]:
    """Return the CPU, the memory, and the versions in both environments."""
    peers = [name for name in contenders if not name.startswith("openset")]
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "system": platform.platform(terse=True),
        "load": round(os.getloadavg()[0], 2),
        "openset": versions(limits.python, ["numpy", "openset"]),
        "peers": versions(limits.peers_python, ["numpy", *peers]) if peers else {},
    }


def cpu_model() -> str:
    """Return the name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """Ask an interpreter for its version and those of the packages it has."""
    command = [python, "-c", ASK_VERSIONS, *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    found: dict[str, str] = json.loads(done.stdout)
    return found


def describe(facts: dict[str, object]) -> str:
    """Return the machine as two lines of text."""
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}, "
        f"load {facts['load']} at the start"
    ]
    for side in ("openset", "peers"):
        found = facts[side]
        if isinstance(found, dict) and found:
            lines.append(f"{side}: " + ", ".join(f"{k} {v}" for k, v in found.items()))
    return "  \n".join(lines)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table whose first columns are aligned left and the others right."""
    rule = ["---" if i < left else "--:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def table(runs: Sequence[Run], contenders: Sequence[str], against: str) -> str:
    """Return the medians of one workload, with the ratios to one contender.

    Args:
        runs: All runs of the workload.
        contenders: Order of the rows.
        against: Contender that the others are divided by.
    """
    by_name = {name: [run for run in runs if run.contender == name] for name in contenders}
    base = {run.round: run.wall for run in by_name.get(against, []) if not run.failure}
    truth = reference(runs)
    rows = [row(name, by_name[name], base, truth) for name in contenders]
    header = ["contender", "runs", "wall s", "spread", "CPU s", "peak MB"]
    header += [f"{against} ÷ it", f"it ÷ {against}"]
    header.append(f"12 statistics − {truth.contender if truth else REFERENCE}")
    return markdown(header, rows)


def row(name: str, runs: Sequence[Run], base: dict[int, float], truth: Run | None) -> list[str]:
    """Return one contender's row; the ratios are medians over the rounds that both ran."""
    good = [run for run in runs if not run.failure]
    if not good:
        reasons = sorted({run.failure for run in runs}) or ["not run"]
        return [name, "0", "; ".join(reasons), *[NONE] * 6]
    walls = [run.wall for run in good]
    shares = [base[run.round] / run.wall for run in good if run.round in base]
    return [
        name,
        str(len(good)) if len(good) == len(runs) else f"{len(good)} of {len(runs)}",
        f"{median(walls):.3f}",
        f"{min(walls):.3f}-{max(walls):.3f}",
        f"{median(run.cpu for run in good):.3f}",
        f"{median(run.peak_mb for run in good):.0f}",
        f"{median(shares):.3f}" if shares else NONE,
        f"{median(1 / share for share in shares):.2f}" if shares else NONE,
        difference(good[-1], truth),
    ]


def reference(runs: Sequence[Run]) -> Run | None:
    """Return the run whose statistics the others are compared with: pycocotools', or any."""
    with_stats = [run for run in runs if run.stats and not run.failure]
    with_stats.sort(key=lambda run: run.contender != REFERENCE)
    return with_stats[0] if with_stats else None


def difference(run: Run, truth: Run | None) -> str:
    """Return the largest difference from the reference's twelve statistics."""
    if truth is None or not run.stats:
        return NONE
    pairs = zip(run.stats, truth.stats, strict=True)
    largest = max(abs(ours - theirs) for ours, theirs in pairs)
    return "0" if largest == 0 else f"{largest:.1e}"


def agreement(runs: Sequence[Run]) -> str:
    """Return what each contender computed on one workload, and how far it is from the first."""
    truth = reference(runs)
    known = next((run.ap_known for run in runs if run is truth), None)
    rows = []
    for run in runs:
        gap = NONE
        if run.ap_known is not None and known is not None:
            gap = "0" if run.ap_known == known else f"{abs(run.ap_known - known):.1e}"
        rows.append(
            [
                run.contender,
                f"{run.stats[0]:.6f}" if run.stats else NONE,
                run.failure or difference(run, truth),
                NONE if run.ap_known is None else f"{run.ap_known:.6f}",
                gap,
            ]
        )
    name = truth.contender if truth else REFERENCE
    header = ["contender", "AP", f"12 statistics − {name}", "AP known", f"AP known − {name}"]
    return markdown(header, rows)


def growth(runs: Sequence[Run], images: dict[str, int], contender: str) -> str:
    """Return time and memory by number of images, with the cost of each further image.

    Args:
        runs: Runs of all sizes.
        images: Workload to its number of images, rising.
        contender: Whose runs to show.
    """
    rows, before = [], None
    for workload, n in images.items():
        mine = [run for run in runs if (run.contender, run.workload) == (contender, workload)]
        good = [run for run in mine if not run.failure]
        if not good:
            rows.append([workload, str(n), mine[0].failure if mine else NONE, *[NONE] * 3])
            continue
        wall, peak = median(run.wall for run in good), median(run.peak_mb for run in good)
        further = f"{(wall - before[1]) / (n - before[0]) * 1e6:.1f}" if before else NONE
        rows.append(
            [workload, str(n), f"{wall:.3f}", f"{wall / n * 1e6:.1f}", further, f"{peak:.0f}"]
        )
        before = (n, wall)
    header = ["workload", "images", "wall s", "µs per image", "µs per further image", "peak MB"]
    return f"{contender}\n\n" + markdown(header, rows)
