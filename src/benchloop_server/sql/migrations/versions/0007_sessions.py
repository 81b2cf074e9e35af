"""Browsers that are signed in with a key, when a key was last used, and the job list's facts side by side for its filters and orders."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_LISTED = (
    *("workspace_id", "group_id", "created_at", "job_id", "status", "outcome", "reward", "reward_valid", "fail_reason", "sub_fail_reason"),
    *("task_id", "step", "attempt", "model", "agent", "template", "instance_id", "error_type", "cost_usd", "n_input_tokens"),
    *("n_output_tokens", "n_steps", "started_at", "finished_at", "n_cache_tokens", "n_tool_calls", "n_tool_errors", "n_llm_calls"),
    *("n_agent_steps", "thinking_chars", "context_peak", "trajectory_completion_tokens", "trajectory_bytes", "artifact_bytes"),
)


def upgrade() -> None:
    """Apply."""
    op.add_column("keys", sa.Column("last_used_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("former_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("rotated_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.key_id"], name=op.f("fk_sessions_key_id")),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("hash", name=op.f("uq_sessions_hash")),
    )
    op.create_index(op.f("ix_sessions_former_hash"), "sessions", ["former_hash"])
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_jobs_listed", "jobs", list(_LISTED))
