"""Behaviour tasks: which behaviour goes with reward. Asked for here, worked off by the analysis."""
