"""The routes of jobs."""

from __future__ import annotations

from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Job, JobPage, JobsCheck, JobStates, JobsUpsert
from benchloop_client.contract.summaries import JobIds, JobMeta
from benchloop_server.features.jobs import push, service
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.http.queries import Limit, Skip, Step
from benchloop_server.http.routing import operation
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services


def job_filter(
    group_id: str | None = None,
    template: str | None = None,
    status: str | None = None,
    instance_id: str | None = None,
    outcome: str | None = None,
    task_id: str | None = None,
    model: str | None = None,
    agent: str | None = None,
    step: Step = None,
    error_type: str | None = None,
    reward_valid: bool | None = None,
) -> JobFilter:
    """The dependency `wanted`: every filter of the job list is a query parameter."""
    return JobFilter(**locals())


@operation("jobs", dependencies={"wanted": Provide(job_filter, sync_to_thread=False)})
def list_jobs(
    services: Services, principal: Principal, wanted: JobFilter, skip: Skip = 0, limit: Limit = 50, cursor: str | None = None
) -> JobPage:
    """Jobs in the order of their creation, filtered, by `skip` or by `cursor`."""
    part = Window(limit=min(limit, services.limits.page), skip=skip, cursor=cursor)
    return service.page(services, principal, wanted, part=part)


@operation("job")
def get_job(services: Services, principal: Principal, job_id: str) -> Job:
    """One job."""
    return service.get(services, principal, job_id)


@operation("job_meta")
def get_meta(services: Services, principal: Principal, job_id: str) -> JobMeta:
    """What the source said about a job beside its facts."""
    return service.meta(services, principal, job_id)


@operation("group_job_ids")
def get_group_ids(services: Services, principal: Principal, group_id: str) -> JobIds:
    """The ids of every job of a group."""
    return service.group_ids(services, principal, group_id)


@operation("jobs_check")
def check_jobs(services: Services, principal: Principal, group_id: str, data: JobsCheck) -> JobStates:
    """What a push of these fingerprints would do."""
    return push.check(services, principal, group_id, asked=data)


@operation("jobs_put")
def put_jobs(services: Services, principal: Principal, group_id: str, data: JobsUpsert) -> JobStates:
    """Create or replace a batch of jobs, whole or not at all."""
    return push.put(services, principal, group_id, batch=data)


ROUTES: list[HTTPRouteHandler] = [list_jobs, get_job, get_meta, get_group_ids, check_jobs, put_jobs]
