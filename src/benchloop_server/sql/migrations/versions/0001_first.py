"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_workspace_id_at"), "audit", ["workspace_id", "at"], unique=False)
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_table(
        "workspaces",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", name=op.f("pk_workspaces")),
    )
    op.create_table(
        "groups",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("benchmark", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("expected", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("source_json", sa.Text(), nullable=True),
        sa.Column("extra_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"], name=op.f("fk_groups_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "group_id", name=op.f("pk_groups")),
    )
    op.create_index(op.f("ix_groups_workspace_id_created_at_group_id"), "groups", ["workspace_id", "created_at", "group_id"], unique=False)
    op.create_table(
        "uploads",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("blob_offset", sa.BigInteger(), nullable=False),
        sa.Column("stored_size", sa.BigInteger(), nullable=False),
        sa.Column("stored_sha256", sa.Text(), nullable=False),
        sa.Column("index_blob", sa.Text(), nullable=True),
        sa.Column("index_offset", sa.BigInteger(), nullable=True),
        sa.Column("index_size", sa.BigInteger(), nullable=True),
        sa.Column("index_sha256", sa.Text(), nullable=True),
        sa.Column("info_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"], name=op.f("fk_uploads_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "kind", "sha256", name=op.f("pk_uploads")),
    )
    op.create_table(
        "users",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"], name=op.f("fk_users_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "user", name=op.f("pk_users")),
    )
    op.create_table(
        "download_tasks",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("filters_json", sa.Text(), nullable=False),
        sa.Column("job_ids_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"], name=op.f("fk_download_tasks_workspace_id_group_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "task_id", name=op.f("pk_download_tasks")),
    )
    op.create_table(
        "jobs",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("trial_key", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("attempt_order", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("outcome_rule", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("reward_key", sa.Text(), nullable=True),
        sa.Column("rewards_json", sa.Text(), nullable=False),
        sa.Column("reward_valid", sa.Boolean(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("instance_id", sa.Text(), nullable=True),
        sa.Column("template", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("agent_version", sa.Text(), nullable=True),
        sa.Column("n_input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("n_cache_tokens", sa.BigInteger(), nullable=True),
        sa.Column("n_output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("phases_json", sa.Text(), nullable=False),
        sa.Column("source_json", sa.Text(), nullable=True),
        sa.Column("meta_json", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("trajectory_sha256", sa.Text(), nullable=True),
        sa.Column("trajectory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("trajectory_stored_bytes", sa.BigInteger(), nullable=True),
        sa.Column("archive_sha256", sa.Text(), nullable=True),
        sa.Column("artifact_bytes", sa.BigInteger(), nullable=True),
        sa.Column("n_steps", sa.BigInteger(), nullable=True),
        sa.Column("n_agent_steps", sa.BigInteger(), nullable=True),
        sa.Column("n_tool_calls", sa.BigInteger(), nullable=True),
        sa.Column("n_tool_errors", sa.BigInteger(), nullable=True),
        sa.Column("n_llm_calls", sa.BigInteger(), nullable=True),
        sa.Column("thinking_chars", sa.BigInteger(), nullable=True),
        sa.Column("trajectory_prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("trajectory_completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("trajectory_cached_tokens", sa.BigInteger(), nullable=True),
        sa.Column("context_peak", sa.BigInteger(), nullable=True),
        sa.Column("trajectory_cost_usd", sa.Float(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("written_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"], name=op.f("fk_jobs_workspace_id_group_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_workspace_id_created_at_job_id"), "jobs", ["workspace_id", "created_at", "job_id"], unique=True)
    op.create_index(
        op.f("ix_jobs_workspace_id_group_id_created_at_job_id"), "jobs", ["workspace_id", "group_id", "created_at", "job_id"], unique=False
    )
    op.create_index(
        op.f("ix_jobs_workspace_id_group_id_outcome_created_at"),
        "jobs",
        ["workspace_id", "group_id", "outcome", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_jobs_workspace_id_group_id_task_id_step"), "jobs", ["workspace_id", "group_id", "task_id", "step"], unique=False
    )
    op.create_table(
        "keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id", "user"], ["users.workspace_id", "users.user"], name=op.f("fk_keys_workspace_id_user")),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
    )
    op.create_table(
        "job_media",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mime_type", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["jobs.workspace_id", "jobs.job_id"],
            name=op.f("fk_job_media_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", "sha256", "name", name=op.f("pk_job_media")),
    )
    op.create_table(
        "job_rewards",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("reward_key", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["jobs.workspace_id", "jobs.job_id"],
            name=op.f("fk_job_rewards_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", "reward_key", name=op.f("pk_job_rewards")),
    )
    op.execute("INSERT INTO counters (name, value) VALUES ('created_at', 0)")
