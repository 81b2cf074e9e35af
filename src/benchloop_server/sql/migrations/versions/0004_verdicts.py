"""What the analysis found: verdicts on jobs, reports of groups, and the recorded validity of rewards apart from the shown one."""

import secrets
import time

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("jobs", sa.Column("reward_valid_recorded", sa.Boolean(), nullable=True))
    op.execute("UPDATE jobs SET reward_valid_recorded = reward_valid")
    op.create_table(
        "verdicts",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("rules_digest", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("judged_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["jobs.workspace_id", "jobs.job_id"],
            name=op.f("fk_verdicts_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", name=op.f("pk_verdicts")),
    )
    op.create_table(
        "verdict_texts",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("kept", sa.LargeBinary(), nullable=False),
        sa.Column("shown", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["verdicts.workspace_id", "verdicts.job_id"],
            name=op.f("fk_verdict_texts_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", name=op.f("pk_verdict_texts")),
    )
    op.create_table(
        "group_reports",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("rules_digest", sa.Text(), nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=True),
        sa.Column("shown", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"], name=op.f("fk_group_reports_workspace_id_group_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "group_id", name=op.f("pk_group_reports")),
    )
    _wish_for_analysis()


def _wish_for_analysis() -> None:
    """What was pushed to an older server is analysed, too."""
    op.execute("INSERT INTO group_reports (workspace_id, group_id) SELECT workspace_id, group_id FROM groups")
    now = time.time_ns() // 1000
    texts = [sa.column(name, sa.Text()) for name in ("work_id", "workspace_id", "kind", "key", "args_json", "state")]
    numbers = [sa.column(name, sa.BigInteger()) for name in ("rank", "due_at", "requested_at", "attempts")]
    work = sa.table("work", *texts, *numbers, sa.column("cancel", sa.Boolean()))
    fresh = {"kind": "analyse", "args_json": "{}", "state": "pending", "rank": 10, "due_at": now, "requested_at": now, "attempts": 0}
    rows = op.get_bind().execute(sa.text("SELECT workspace_id, group_id FROM groups")).all()
    if rows:
        values = [
            {"work_id": secrets.token_hex(16), "workspace_id": row.workspace_id, "key": row.group_id, "cancel": False, **fresh}
            for row in rows
        ]
        op.bulk_insert(work, values)
