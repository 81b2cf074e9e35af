"""Moving many files safely: what to fetch, in which order, onto which path, and what is known to be there. Knows no groups, HTTP or terminal."""
