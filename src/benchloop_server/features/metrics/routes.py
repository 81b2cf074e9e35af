"""The routes of summaries and metrics."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.summaries import EvalSummary, EvalTasks, GroupMetrics, JobMetrics, JobStats, MetricsPage
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.metrics import service
from benchloop_server.http.parameters import Cursor, GivenPrincipal, GivenServices, Limit, PathText, RequiredText, Skip, Source, Text
from benchloop_server.http.routing import operation
from benchloop_server.kit.services import Services


@operation("job_metrics")
def job_metrics(services: GivenServices, principal: GivenPrincipal, job_id: PathText, source: Source = None) -> JobMetrics:
    """The metrics of one job."""
    return service.job_metrics(services, principal, job_id)


@operation("metrics")
def metrics(
    services: GivenServices,
    principal: GivenPrincipal,
    group_id: RequiredText,
    skip: Skip = 0,
    limit: Limit = 1000,
    cursor: Cursor = None,
    source: Source = None,
) -> MetricsPage:
    """The metrics of the jobs of a group, by `skip` or by `cursor`; an unknown group has none."""
    part = _part(services, skip=skip, limit=limit, cursor=cursor)
    return service.metrics_page(services, principal, group_id, part=part, must_exist=False)


@operation("group_metrics_overall")
def overall(services: GivenServices, principal: GivenPrincipal, group_id: PathText, source: Source = None) -> GroupMetrics:
    """The metrics of a group."""
    return service.group_metrics(services, principal, group_id)


@operation("group_metrics_detail")
def detail(
    services: GivenServices, principal: GivenPrincipal, group_id: PathText, skip: Skip = 0, limit: Limit = 1000, cursor: Cursor = None
) -> MetricsPage:
    """The metrics of the jobs of a group, by `skip` or by `cursor`."""
    part = _part(services, skip=skip, limit=limit, cursor=cursor)
    return service.metrics_page(services, principal, group_id, part=part, must_exist=True)


@operation("eval_summary")
def eval_summary(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> EvalSummary:
    """Outcomes, rewards, pass@k, errors, tokens and times of a group."""
    return service.eval_summary(services, principal, group_id)


@operation("eval_tasks")
def eval_tasks(
    services: GivenServices,
    principal: GivenPrincipal,
    group_id: PathText,
    skip: Skip = 0,
    limit: Limit = 1000,
    search: Text = None,
    status: Text = None,
) -> EvalTasks:
    """The tasks of a group with the outcomes of their attempts; `search` is part of a task id."""
    return service.eval_tasks(services, principal, group_id, part=_part(services, skip=skip, limit=limit), search=search, status=status)


@operation("job_stats")
def job_stats(services: GivenServices, principal: GivenPrincipal, group_id: Text = None) -> JobStats:
    """Numbers over the jobs of one group, or over all that the key can read."""
    return service.job_stats(services, principal, group_id)


def _part(services: Services, *, skip: int, limit: int, cursor: str | None = None) -> Window:
    return Window(limit=min(limit, services.limits.page), skip=skip, cursor=cursor)


ROUTES: list[HTTPRouteHandler] = [job_metrics, metrics, overall, detail, eval_summary, eval_tasks, job_stats]
