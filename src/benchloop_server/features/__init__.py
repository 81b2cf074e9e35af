"""What the service is about: one folder a feature, the same file names in each."""
