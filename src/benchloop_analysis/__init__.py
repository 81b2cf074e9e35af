"""What happened in a run and why: events, verdicts, behaviours and statistics.

Pure: texts and records in, records out; no files, no network.
"""
