"""What a rule can look for. Each module holds matchers of one kind; a rule names one of them and gives it parameters."""
