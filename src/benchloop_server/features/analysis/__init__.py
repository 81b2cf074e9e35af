"""Why jobs failed: judged by background work after each push, kept beside the jobs, and read by the reports."""
