"""Comparisons within strata: estimates, intervals and tests on arrays, knowing nothing of jobs and behaviours."""
