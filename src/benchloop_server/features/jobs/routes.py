"""The routes of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, QueryParameter

from benchloop_client.contract.resources import Job, JobPage, JobsCheck, JobStates, JobsUpsert
from benchloop_client.contract.summaries import JobIds, JobMeta
from benchloop_server.features.jobs import push, service
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.http.parameters import Cursor, Flag, GivenPrincipal, GivenServices, Limit, PathText, Several, Skip, Text
from benchloop_server.http.routing import operation


@dataclass(frozen=True, kw_only=True)
class JobQuery:
    """The query parameters of the job list. Where it says so, several values with commas between them: one has to fit."""

    group_id: Text = None
    template: Text = None
    status: Annotated[str | None, QueryParameter(description="states of the lifecycle or outcomes; several with commas")] = None
    instance_id: Text = None
    outcome: Several = None
    task_id: Text = None
    model: Several = None
    agent: Several = None
    step: Several = None
    error_type: Several = None
    reward_valid: Flag = None
    fail_reason: Several = None
    sub_fail_reason: Several = None


def job_filter(parameters: NamedDependency[JobQuery]) -> JobFilter:
    """The dependency `wanted`."""
    return JobFilter(**vars(parameters))


_FILTERED = {"parameters": Provide(JobQuery, sync_to_thread=False), "wanted": Provide(job_filter, sync_to_thread=False)}


@operation("jobs", dependencies=_FILTERED)
def list_jobs(
    services: GivenServices,
    principal: GivenPrincipal,
    wanted: NamedDependency[JobFilter],
    skip: Skip = 0,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPage:
    """Jobs in the order of their creation, filtered, by `skip` or by `cursor`."""
    part = Window(limit=min(limit, services.limits.page), skip=skip, cursor=cursor)
    return service.page(services, principal, wanted, part=part)


@operation("job")
def get_job(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> Job:
    """One job."""
    return service.get(services, principal, job_id)


@operation("job_meta")
def get_meta(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> JobMeta:
    """What the source said about a job beside its facts."""
    return service.meta(services, principal, job_id)


@operation("group_job_ids")
def get_group_ids(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> JobIds:
    """The ids of every job of a group."""
    return service.group_ids(services, principal, group_id)


@operation("jobs_check")
def check_jobs(services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[JobsCheck]) -> JobStates:
    """What a push of these fingerprints would do."""
    return push.check(services, principal, group_id, asked=data)


@operation("jobs_put")
def put_jobs(services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[JobsUpsert]) -> JobStates:
    """Create or replace a batch of jobs, whole or not at all."""
    return push.put(services, principal, group_id, batch=data)


ROUTES: list[HTTPRouteHandler] = [list_jobs, get_job, get_meta, get_group_ids, check_jobs, put_jobs]
