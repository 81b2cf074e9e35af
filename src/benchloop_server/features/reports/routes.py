"""The routes of reports (E17 to E20) and of weakness reports (E21 to E24)."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.analysis import (
    GroupReport,
    GroupRsi,
    GroupTrigger,
    GroupTriggered,
    JobReport,
    JobRsi,
    JobTrigger,
    JobTriggered,
)
from benchloop_server.features.reports import service
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText
from benchloop_server.http.routing import operation


@operation("job_report")
def get_job_report(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> JobReport:
    """Why a job failed, in words."""
    return service.job_report(services, principal, job_id)


@operation("group_report")
def get_group_report(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> GroupReport:
    """Why the jobs of a group failed, in words."""
    return service.group_report(services, principal, group_id)


@operation("job_rsi")
def get_job_rsi(services: GivenServices, principal: GivenPrincipal, job_id: PathText) -> JobRsi:
    """The weaknesses that a job shows, in words."""
    return service.job_rsi(services, principal, job_id)


@operation("group_rsi")
def get_group_rsi(services: GivenServices, principal: GivenPrincipal, group_id: PathText) -> GroupRsi:
    """The weaknesses that the jobs of a group show, in words."""
    return service.group_rsi(services, principal, group_id)


@operation("job_report_trigger")
def want_job_report(services: GivenServices, principal: GivenPrincipal, job_id: PathText, data: JSONBody[JobTrigger]) -> JobTriggered:
    """Ask for the report of a job. The same request again is the same request."""
    return service.want_of_job(services, principal, job_id, kind="report")


@operation("group_report_trigger")
def want_group_report(
    services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[GroupTrigger]
) -> GroupTriggered:
    """Ask for the report of a group. The same request again is the same request."""
    return service.want_of_group(services, principal, group_id, kind="report", include_passed=data.include_passed)


@operation("job_rsi_trigger")
def want_job_rsi(services: GivenServices, principal: GivenPrincipal, job_id: PathText, data: JSONBody[JobTrigger]) -> JobTriggered:
    """Ask for the weakness report of a job. The same request again is the same request."""
    return service.want_of_job(services, principal, job_id, kind="rsi")


@operation("group_rsi_trigger")
def want_group_rsi(services: GivenServices, principal: GivenPrincipal, group_id: PathText, data: JSONBody[GroupTrigger]) -> GroupTriggered:
    """Ask for the weakness report of a group. The same request again is the same request."""
    return service.want_of_group(services, principal, group_id, kind="rsi", include_passed=data.include_passed)


ROUTES: list[HTTPRouteHandler] = [
    *(get_job_report, get_group_report, get_job_rsi, get_group_rsi),
    *(want_job_report, want_group_report, want_job_rsi, want_group_rsi),
]
