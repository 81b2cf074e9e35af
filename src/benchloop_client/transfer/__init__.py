"""Moving many files safely: what to fetch, in which order, onto which path, what is there already. No groups, no HTTP, no terminal."""
