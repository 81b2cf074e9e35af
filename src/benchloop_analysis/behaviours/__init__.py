"""The behaviours that are looked for in runs, and `observe`, which looks for all of them in one job."""

from __future__ import annotations

from benchloop_analysis.behaviours.actions import ACTIONS
from benchloop_analysis.behaviours.catalogue import CATALOGUE, CATALOGUE_VERSION
from benchloop_analysis.behaviours.observing import LANDMARKS, observe
from benchloop_analysis.behaviours.records import Behaviour, Features

__all__ = ["ACTIONS", "CATALOGUE", "CATALOGUE_VERSION", "LANDMARKS", "Behaviour", "Features", "observe"]
