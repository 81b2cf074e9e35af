"""`python -m benchloop_client.samples OUT`: the sample runs; with `--jobs N --bytes S` one large run instead."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchloop_client.samples.generator import write_samples
from benchloop_client.samples.large import write_large


def main(arguments: list[str] | None = None) -> None:
    """Write below OUT, which is made if needed."""
    parser = argparse.ArgumentParser(prog="python -m benchloop_client.samples", description="Write sample run directories.")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, help="write one run of this many jobs instead")
    parser.add_argument("--bytes", type=int, default=20_000, dest="size", help="about how many bytes each of them has (with --jobs)")
    given = parser.parse_args(arguments)
    if given.jobs is None:
        write_samples(given.out, seed=given.seed)
    else:
        write_large(given.out, given.jobs, given.size, seed=given.seed)


if __name__ == "__main__":
    main()
