"""What jobs did, observed by the behaviour catalogue, and the samples and results of behaviour tasks."""

import secrets
import time

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "job_features",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("catalogue_version", sa.Text(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["jobs.workspace_id", "jobs.job_id"],
            name=op.f("fk_job_features_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", name=op.f("pk_job_features")),
    )
    op.create_index(op.f("ix_job_features_catalogue_version"), "job_features", ["catalogue_version"])
    op.add_column("behaviour_tasks", sa.Column("error", sa.Text(), nullable=True))
    op.add_column("behaviour_tasks", sa.Column("ended_at", sa.BigInteger(), nullable=True))
    op.create_table(
        "behaviour_parts",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "uid"],
            ["behaviour_tasks.workspace_id", "behaviour_tasks.uid"],
            name=op.f("fk_behaviour_parts_workspace_id_uid"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "uid", "name", name=op.f("pk_behaviour_parts")),
    )
    _wish_for_the_work()


def _wish_for_the_work() -> None:
    """What was asked of an older server is answered, too; what was pushed to it is observed after the next start."""
    op.execute("INSERT INTO counters (name, value) VALUES ('observed_by', 0)")
    tasks = op.get_bind().execute(sa.text("SELECT workspace_id, uid FROM behaviour_tasks WHERE state = 'pending'")).all()
    values = [_wish(row.workspace_id, row.uid) for row in tasks]
    texts = [sa.column(name, sa.Text()) for name in ("work_id", "workspace_id", "kind", "key", "args_json", "state")]
    numbers = [sa.column(name, sa.BigInteger()) for name in ("rank", "due_at", "requested_at", "attempts")]
    if values:
        op.bulk_insert(sa.table("work", *texts, *numbers, sa.column("cancel", sa.Boolean())), values)


def _wish(workspace_id: str, uid: str) -> dict[str, object]:
    now = time.time_ns() // 1000
    same = {"kind": "study", "args_json": "{}", "state": "pending", "rank": 0, "due_at": now, "requested_at": now, "attempts": 0}
    return {"work_id": secrets.token_hex(16), "workspace_id": workspace_id, "key": uid, "cancel": False, **same}
