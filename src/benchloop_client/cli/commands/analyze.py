"""`bl analyze`: why did the jobs of a local run fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchloop_client.cli import ask, exits, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_analysis import judge_vote
    from benchloop_client import settings
    from benchloop_client.actions import analyze as actions
    from benchloop_client.actions import analyze_judge, analyze_output
    from benchloop_client.cli import analyze_table, behaviour_table, formats, progress, tty
    from benchloop_client.formats import records
else:
    judge_vote = lazy("benchloop_analysis.judge_vote")
    actions = lazy("benchloop_client.actions.analyze")
    analyze_judge = lazy("benchloop_client.actions.analyze_judge")
    settings = lazy("benchloop_client.settings")
    analyze_output = lazy("benchloop_client.actions.analyze_output")
    analyze_table = lazy("benchloop_client.cli.analyze_table")
    behaviour_table = lazy("benchloop_client.cli.behaviour_table")
    formats = lazy("benchloop_client.cli.formats")
    progress = lazy("benchloop_client.cli.progress")
    records = lazy("benchloop_client.formats.records")
    tty = lazy("benchloop_client.cli.tty")

_FORMATS = click.Choice(("auto", "harbor", "atif", "tau"))
_PIPE_WIDTH = 120
#: The documented default. It stands in the contract too, which help is not to load.
SAMPLE_SIZE = 512


def _price(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        sent, received = (float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter("two numbers with a comma between them, such as 3,15") from None
    if not (0 <= sent < float("inf") and 0 <= received < float("inf")):
        raise click.BadParameter("prices are 0 or more")
    return sent, received


def _votes(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, int]:
    asked, _, agree = value.partition(",")
    if not (asked.isdigit() and agree.isdigit() and 1 <= int(agree) <= int(asked) <= 9):
        raise click.BadParameter("two numbers from 1 to 9, the second not above the first, such as 3,2")
    return int(asked), int(agree)


@click.command(name="analyze", cls=options.Leaf, example="bl analyze runs/2026-01-01 -o reports")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--rules",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Rules of your own (YAML), beside the built-in ones (repeatable).",
)
@click.option("-o", "--output-dir", metavar="DIR", help="Write all reports below DIR too.")
@click.option("--jobs", "processes", type=click.IntRange(min=1), metavar="N", help="Processes at once.  [default: one for each core]")
@click.option("--run-format", type=_FORMATS, default="auto", show_default=True, help="What kind of run directory it is.")
@click.option("--group", metavar="ID", help="Group id (default: made from the run's name).")
@click.option("--model", metavar="TEXT", help="Model, where the files do not say.")
@click.option("--benchmark", metavar="TEXT", help="Benchmark, where the files do not say.")
@click.option("--step", type=int, metavar="N", help="Training step that these jobs belong to.")
@click.option("--reward-key", metavar="KEY", help="Which of several rewards counts.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files to leave out, by their path inside a job (repeatable).")
@click.option("--judge-url", metavar="URL", help="Have a model's endpoint (OpenAI kind) give its opinion on unsure verdicts.")
@click.option("--judge-model", metavar="NAME", help="The model to ask; its key is BENCHLOOP_JUDGE_KEY.")
@click.option(
    "--judge-price", metavar="IN,OUT", callback=_price, help="US dollars for a million tokens sent, and received; 0,0 for your own."
)
@click.option(
    "--judge-budget", type=click.FloatRange(min=0), default=1.0, show_default=True, metavar="USD", help="Spend no more on the judge."
)
@click.option(
    "--judge-votes", metavar="N,M", callback=_votes, default="3,2", show_default=True, help="Ask up to N times; M answers have to agree."
)
@click.option("--brm", is_flag=True, help="Study too which behaviour goes with reward within the same task.")
@click.option(
    "--sample-size",
    type=click.IntRange(min=0),
    metavar="N",
    default=SAMPLE_SIZE,
    show_default=True,
    help="Jobs that --brm draws from each training step; 0: all. A run without steps is taken whole.",
)
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures of --brm as one page.")
@click.option(
    "--judge-behaviours",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask the judge about behaviour that rules cannot see, of N jobs; adds --brm.",
)
@options.print_options(default="table on a terminal, else json")
@ask.with_session
def command(
    session: Session,
    *,
    path: Path,
    rules: tuple[Path, ...],
    output_dir: str | None,
    processes: int | None,
    run_format: str,
    **told: Any,
) -> int:
    """Why jobs of a local run failed, with evidence; no server.

    Takes what `bl push` takes. For each job: whether its reward is valid, why it failed, and the places in the record that show it. For
    the whole: the pass rate with and without invalid rewards, reasons, errors that cost most time, faults that concern many jobs.

    With --brm (which --html implies), for each group also which behaviour goes with reward, compared within the same task.

    Prints a table on a terminal, else JSON: one {"group": …, "jobs": […]} a group, with --brm also "brm". Exits 1 when a job could not be
    read.
    """
    session.given.setdefault("format", "table" if session.on_terminal else "json")
    samples, agree = told.pop("judge_votes")
    brm, sample_size, html, opinions = (told.pop(name) for name in ("brm", "sample_size", "html", "judge_behaviours"))
    judge = _judge(session, *(told.pop(f"judge_{name}") for name in ("url", "model", "price", "budget")))
    if opinions is not None and judge is None:
        raise click.UsageError("--judge-behaviours needs --judge-url")
    target = output_dir or session.given.get("output_dir")
    request = actions.Request(
        path,
        format=run_format,
        rules=rules,
        output_dir=Path(target).expanduser() if target else None,
        processes=processes,
        pretty=session.layout.pretty,
        options=records.ReadOptions(**told),
        judge=judge,
        votes=judge_vote.Votes(samples=samples, agree=agree),
        brm=brm or html is not None or opinions is not None,
        sample_size=sample_size or None,
        html=html,
        judge_behaviours=opinions or 0,
    )
    watch = progress.Progress(session.output, session.env.clock)
    try:
        analysis = actions.analyze(request, watch)
    finally:
        watch.close()
        if judge is not None:
            judge.close()
    if judge is not None:
        session.output.note(analysis.opinions.sentence())
    with analysis:
        with session.output.flushed():
            for chunk in _printed(session, analysis):
                session.output.data(chunk)
        return exits.of_report(analysis.report, session)


def _judge(
    session: Session, url: str | None, model: str | None, price: tuple[float, float] | None, budget: float
) -> analyze_judge.EndpointJudge | None:
    """Whom to ask, None without `--judge-url`."""
    if url is None:
        if model is not None or price is not None:
            raise click.UsageError("--judge-model and --judge-price need --judge-url")
        return None
    if model is None or price is None:
        raise click.UsageError("--judge-url needs --judge-model and --judge-price, so that the cost is known and capped")
    loaded = session.settings
    key = settings.judge_key()
    cache = loaded.config_path.parent / "cache" / "judge"
    chosen = analyze_judge.JudgeOptions(url=url, model=model, price=price, budget=budget, key=key, cache=cache)
    return analyze_judge.EndpointJudge(chosen, loaded, session.cancel)


def _printed(session: Session, analysis: actions.Analysis) -> Iterator[bytes]:
    style = session.style
    if style.name == "json":
        yield from analyze_output.as_json(analysis, session.layout)
    elif style.name == "table" and not style.fields:
        stdout = session.env.stdout
        width = tty.columns_of(stdout, _PIPE_WIDTH) if session.on_terminal else _PIPE_WIDTH
        for number, group in enumerate(analysis.groups):
            yield b"\n" if number else b""
            yield from analyze_table.render(group, width=width, colour=session.colour)
            if group.brm is not None:
                patterns, summary = group.brm["behaviorPatterns"], group.brm["summary"]
                yield b"\n"
                yield from behaviour_table.render("Behaviour and reward", patterns, summary, width=width, colour=session.colour)
                yield from behaviour_table.judged(group.brm.get("judged"), width=width, colour=session.colour)
    else:
        yield from formats.rendered(style, lambda: analyze_output.lines(analysis), formats.Screen(say=session.output.note))
