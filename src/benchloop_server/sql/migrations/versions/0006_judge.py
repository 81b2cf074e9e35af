"""A model's opinions: how sure each verdict is, which judge was asked about it, its answers, and what they cost."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("verdicts", sa.Column("tier", sa.Text(), nullable=True))
    op.add_column("verdicts", sa.Column("judge_digest", sa.Text(), nullable=True))
    op.create_table(
        "judge_answers",
        sa.Column("workspace_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("question_key", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "job_id"],
            ["jobs.workspace_id", "jobs.job_id"],
            name=op.f("fk_judge_answers_workspace_id_job_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "job_id", "question_key", name=op.f("pk_judge_answers")),
    )
    op.create_index(op.f("ix_judge_answers_workspace_id_question_key"), "judge_answers", ["workspace_id", "question_key"])
    op.create_table(
        "judge_spending",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("spent_usd", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge_spending")),
    )
    op.execute("INSERT INTO judge_spending (id, spent_usd) VALUES (1, 0)")
