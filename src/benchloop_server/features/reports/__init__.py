"""Reports on why jobs failed, and weakness reports: asked for here, written by the analysis."""
