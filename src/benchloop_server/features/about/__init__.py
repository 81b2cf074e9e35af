"""Who answers, and whether it is well."""
