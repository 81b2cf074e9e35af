"""Numbers over jobs: summaries, tasks, statistics and the documented metrics."""
