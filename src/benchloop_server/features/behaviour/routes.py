"""The routes of behaviour tasks: E30 to E34, and their end before their time."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from benchloop_client.contract.analysis import BehaviorAnalysis, BehaviorSteps, BehaviorTask, BehaviorTaskCreate, BehaviorTasks
from benchloop_server.features.behaviour import service
from benchloop_server.http.parameters import GivenPrincipal, GivenServices, PathText, RequiredText
from benchloop_server.http.routing import operation


@operation("behavior_steps")
def get_steps(services: GivenServices, principal: GivenPrincipal, group_id: RequiredText) -> BehaviorSteps:
    """The training steps of a group, and how a behaviour task looks at it."""
    return service.steps(services, principal, group_id)


@operation("behavior_task_create")
def create_task(services: GivenServices, principal: GivenPrincipal, data: JSONBody[BehaviorTaskCreate]) -> BehaviorTask:
    """Ask which behaviour goes with reward. The same wish over the same data is the same task."""
    return service.create(services, principal, data)


@operation("behavior_tasks")
def list_tasks(services: GivenServices, principal: GivenPrincipal, group_id: RequiredText) -> BehaviorTasks:
    """The behaviour tasks of a group, newest first."""
    return service.listed(services, principal, group_id)


@operation("behavior_task")
def get_task(services: GivenServices, principal: GivenPrincipal, uid: PathText) -> BehaviorTask:
    """One behaviour task and how far it is."""
    return service.get(services, principal, uid)


@operation("behavior_analysis")
def get_analysis(services: GivenServices, principal: GivenPrincipal, uid: PathText) -> BehaviorAnalysis:
    """What a behaviour task found."""
    return service.analysis(services, principal, uid)


@operation("behavior_task_cancel")
def cancel_task(services: GivenServices, principal: GivenPrincipal, uid: PathText) -> BehaviorTask:
    """End a behaviour task that has not ended. One that has stays as it is, so asking again changes nothing."""
    return service.cancel(services, principal, uid)


ROUTES: list[HTTPRouteHandler] = [get_steps, create_task, list_tasks, get_task, get_analysis, cancel_task]
