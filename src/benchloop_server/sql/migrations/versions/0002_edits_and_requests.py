"""Requests for analysis, behaviour tasks, group edits, keys that end, and the marks of uploads that nothing names."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "analysis_requests",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Text(), nullable=False),
        sa.Column("include_passed", sa.Boolean(), nullable=True),
        sa.Column("data_digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live_key", sa.Text(), nullable=True),
        sa.Column("requested_at", sa.BigInteger(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "group_id"],
            ["groups.workspace_id", "groups.group_id"],
            name=op.f("fk_analysis_requests_workspace_id_group_id"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "request_id", name=op.f("pk_analysis_requests")),
        sa.UniqueConstraint("workspace_id", "live_key", name=op.f("uq_analysis_requests_workspace_id_live_key")),
    )
    op.create_index(op.f("ix_analysis_requests_state_requested_at"), "analysis_requests", ["state", "requested_at"], unique=False)
    op.create_index(op.f("ix_analysis_requests_workspace_id_group_id"), "analysis_requests", ["workspace_id", "group_id"], unique=False)
    op.create_table(
        "behaviour_tasks",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("sampling_mode", sa.Text(), nullable=False),
        sa.Column("steps_json", sa.Text(), nullable=False),
        sa.Column("sample_size", sa.BigInteger(), nullable=True),
        sa.Column("scoring_limit", sa.BigInteger(), nullable=False),
        sa.Column("data_digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live_key", sa.Text(), nullable=True),
        sa.Column("done", sa.BigInteger(), nullable=True),
        sa.Column("total", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"], name=op.f("fk_behaviour_tasks_workspace_id_group_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "uid", name=op.f("pk_behaviour_tasks")),
        sa.UniqueConstraint("workspace_id", "live_key", name=op.f("uq_behaviour_tasks_workspace_id_live_key")),
    )
    op.create_index(op.f("ix_behaviour_tasks_state_created_at"), "behaviour_tasks", ["state", "created_at"], unique=False)
    op.create_index(
        op.f("ix_behaviour_tasks_workspace_id_group_id_created_at"),
        "behaviour_tasks",
        ["workspace_id", "group_id", "created_at"],
        unique=False,
    )
    op.add_column("groups", sa.Column("given_name", sa.Text(), nullable=True))
    op.add_column("groups", sa.Column("tags_json", sa.Text(), nullable=True))
    op.add_column("groups", sa.Column("note", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("fail_reason", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("sub_fail_reason", sa.Text(), nullable=True))
    op.add_column("keys", sa.Column("expires_at", sa.BigInteger(), nullable=True))
    op.add_column("uploads", sa.Column("unused_since", sa.BigInteger(), nullable=True))
    op.execute("INSERT INTO counters (name, value) VALUES ('blobs', 0)")
