"""What every route shares: who asks, the one error body, request ids, limits and headers."""
