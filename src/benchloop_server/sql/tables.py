"""The whole schema. Times are microseconds since 1970 UTC; columns named *_json hold JSON text (see `sql.records`); sizes are bytes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKeyConstraint, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from benchloop_server.sql import access

metadata = access.metadata
_id, _text, _time = access.id_column, access.text_column, access.time_column

#: `given_name`, `tags_json` and `note` are what people said by hand; no push touches them.
groups = Table(
    "groups",
    metadata,
    _id("workspace_id"),
    _id("group_id"),
    _text("name"),
    Column("run_id", Text),
    Column("benchmark", Text),
    Column("model", Text),
    Column("agent", Text),
    Column("expected", BigInteger),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("source_json", Text),
    _text("extra_json"),
    _time("created_at"),
    _time("updated_at"),
    Column("created_by", Text),
    Column("given_name", Text),
    Column("tags_json", Text),
    Column("note", Text),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"]),
    Index(None, "workspace_id", "created_at", "group_id"),
)

#: One attempt at a task: the separate facts, what is derived from them in the same transaction (outcome, attempt), what it refers to
#: (*_sha256 name rows of `uploads`), and the counts of its trajectory. `fail_reason` and `sub_fail_reason` are the analysis's words about
#: this content: null before, and again when the content changes. `reward_valid_recorded` is what the source says; `reward_valid` (and with
#: it `outcome`) the same, or where the source says nothing what the analysis says.
jobs = Table(
    "jobs",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _text("group_id"),
    _text("trial_key"),
    _text("task_id"),
    Column("step", BigInteger),
    Column("attempt", BigInteger, nullable=False),
    Column("attempt_order", BigInteger),
    _text("status"),
    Column("outcome", Text),
    Column("outcome_rule", Integer, nullable=False),
    Column("reward", Float),
    Column("reward_key", Text),
    _text("rewards_json"),
    Column("reward_valid", Boolean),
    Column("error_type", Text),
    Column("error_message", Text),
    Column("instance_id", Text),
    Column("template", Text),
    Column("model", Text),
    Column("agent", Text),
    Column("agent_version", Text),
    Column("n_input_tokens", BigInteger),
    Column("n_cache_tokens", BigInteger),
    Column("n_output_tokens", BigInteger),
    Column("cost_usd", Float),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    _text("phases_json"),
    Column("source_json", Text),
    _text("meta_json"),
    _text("fingerprint"),
    Column("trajectory_sha256", Text),
    Column("trajectory_bytes", BigInteger),
    Column("trajectory_stored_bytes", BigInteger),
    Column("archive_sha256", Text),
    Column("artifact_bytes", BigInteger),
    Column("n_steps", BigInteger),
    Column("n_agent_steps", BigInteger),
    Column("n_tool_calls", BigInteger),
    Column("n_tool_errors", BigInteger),
    Column("n_llm_calls", BigInteger),
    Column("thinking_chars", BigInteger),
    Column("trajectory_prompt_tokens", BigInteger),
    Column("trajectory_completion_tokens", BigInteger),
    Column("trajectory_cached_tokens", BigInteger),
    Column("context_peak", BigInteger),
    Column("trajectory_cost_usd", Float),
    _time("created_at"),
    _time("updated_at"),
    Column("written_by", Text),
    Column("fail_reason", Text),
    Column("sub_fail_reason", Text),
    Column("reward_valid_recorded", Boolean),
    ForeignKeyConstraint(["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"]),
    Index(None, "workspace_id", "group_id", "created_at", "job_id"),
    Index(None, "workspace_id", "group_id", "task_id", "step"),
    Index(None, "workspace_id", "group_id", "outcome", "created_at"),
    Index(None, "workspace_id", "created_at", "job_id", unique=True),
)

#: The facts by which jobs are filtered, counted and summed up, side by side: SQLite reads these in place of the whole rows, whose JSON
#: lies between them. PostgreSQL keeps long values apart by itself, and refuses an entry of an index that is longer than 2.7 kB.
Index(
    "ix_jobs_listed",
    *(
        jobs.c[name]
        for name in (
            *("workspace_id", "group_id", "created_at", "job_id", "status", "outcome", "reward", "reward_valid"),
            *("fail_reason", "sub_fail_reason", "task_id", "step", "attempt", "model", "agent", "template", "instance_id", "error_type"),
            *("cost_usd", "n_input_tokens", "n_output_tokens", "n_steps", "started_at", "finished_at", "n_cache_tokens", "n_tool_calls"),
            *("n_tool_errors", "n_llm_calls", "n_agent_steps", "thinking_chars", "context_peak", "trajectory_completion_tokens"),
            *("trajectory_bytes", "artifact_bytes"),
        )
    ),
).ddl_if(dialect="sqlite")

#: Every reward key of a job, so that means per key are plain SQL.
job_rewards = Table(
    "job_rewards",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _id("reward_key"),
    Column("value", Float),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.job_id"], ondelete="CASCADE"),
)

job_media = Table(
    "job_media",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _id("sha256"),
    _id("name"),
    _text("mime_type"),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.job_id"], ondelete="CASCADE"),
)

#: What was uploaded, named by the SHA-256 and size of the plain bytes. The stored form is `stored_size` bytes at `blob_offset` of `blob`
#: with the digest `stored_sha256`; the step index of a trajectory, or the member index of an archive, is at the index_* place likewise.
#: Small uploads of one request share a blob. `unused_since`: from when on perhaps no job names it; cleared when a client counts on it.
uploads = Table(
    "uploads",
    metadata,
    _id("workspace_id"),
    _id("kind"),
    _id("sha256"),
    Column("size", BigInteger, nullable=False),
    _text("blob"),
    Column("blob_offset", BigInteger, nullable=False),
    Column("stored_size", BigInteger, nullable=False),
    _text("stored_sha256"),
    Column("index_blob", Text),
    Column("index_offset", BigInteger),
    Column("index_size", BigInteger),
    Column("index_sha256", Text),
    _text("info_json"),
    _time("created_at"),
    Column("unused_since", BigInteger),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"]),
)

download_tasks = Table(
    "download_tasks",
    metadata,
    _id("workspace_id"),
    _id("task_id"),
    _text("group_id"),
    Column("total", BigInteger, nullable=False),
    _text("filters_json"),
    _text("job_ids_json"),
    _time("created_at"),
    Column("created_by", Text),
    ForeignKeyConstraint(["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"]),
)

#: What somebody wants analysed, one row a wish: these rows are the truth, the work follows from those that are `pending`. `kind` is report
#: or rsi, `subject_kind` job or group; `include_passed` is null for a job; `data_digest` is of the data as it was asked. `live_key` is the
#: same for equal wishes over equal data, so that there is one row; it becomes null when the work fails, so that it can be wished again.
analysis_requests = Table(
    "analysis_requests",
    metadata,
    _id("workspace_id"),
    _id("request_id"),
    _text("group_id"),
    _text("kind"),
    _text("subject_kind"),
    _text("subject_id"),
    Column("include_passed", Boolean),
    _text("data_digest"),
    _text("state"),
    Column("live_key", Text),
    _time("requested_at"),
    Column("requested_by", Text),
    UniqueConstraint("workspace_id", "live_key"),
    ForeignKeyConstraint(["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"]),
    Index(None, "workspace_id", "group_id"),
    Index(None, "state", "requested_at"),
)

#: What the analysis found about a job with the content `fingerprint`: another fingerprint in `jobs` means that it is about older content.
#: `stale`: it is to be judged again. `rules_digest` is of the rules as the settings name them; `context` of what other attempts at the task
#: showed. With `error` there are no texts. `tier` is null without a reason; `judge_digest` says which judge was asked about it, if it was
#: necessary, null where none was. No `group_id`: rows go with their jobs, in the order in which workers lock them.
verdicts = Table(
    "verdicts",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _text("fingerprint"),
    _text("rules_digest"),
    _text("context"),
    Column("stale", Boolean, nullable=False),
    _time("judged_at"),
    Column("error", Text),
    Column("tier", Text),
    Column("judge_digest", Text),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.job_id"], ondelete="CASCADE"),
)

#: JSON in zstd: `kept` is what a group's report is counted from, `shown` the reports as they are served. Apart, so that rows that are
#: looked through stay small.
verdict_texts = Table(
    "verdict_texts",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    Column("kept", LargeBinary, nullable=False),
    Column("shown", LargeBinary, nullable=False),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["verdicts.workspace_id", "verdicts.job_id"], ondelete="CASCADE"),
)

#: Answers of a judge, each written as soon as it is there, so that nothing is paid twice. They hold words of the job, and go with it.
judge_answers = Table(
    "judge_answers",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _id("question_key"),
    _text("model"),
    _text("text"),
    Column("prompt_tokens", BigInteger),
    Column("completion_tokens", BigInteger),
    Column("cost_usd", Float),
    _time("asked_at"),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.job_id"], ondelete="CASCADE"),
    Index(None, "workspace_id", "question_key"),
)

#: One row: what all answers cost, and what those that are under way, or were lost on the way, can have cost at most.
judge_spending = Table(
    "judge_spending", metadata, Column("id", BigInteger, primary_key=True, autoincrement=False), Column("spent_usd", Float, nullable=False)
)

#: The report of a group, made from the verdicts on its jobs; the row is there from the first push on, the rest is null until there is one.
group_reports = Table(
    "group_reports",
    metadata,
    _id("workspace_id"),
    _id("group_id"),
    Column("rules_digest", Text),
    Column("made_at", BigInteger),
    Column("shown", LargeBinary),
    ForeignKeyConstraint(["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"]),
)

#: What a job with the content `fingerprint` did, observed by the behaviours of `catalogue_version`: JSON in zstd
#: (`benchloop_analysis.behaviours.records.Features`). With `error` it could not be observed. Jobs without a trajectory have no row.
job_features = Table(
    "job_features",
    metadata,
    _id("workspace_id"),
    _id("job_id"),
    _text("fingerprint"),
    _text("catalogue_version"),
    _time("observed_at"),
    Column("features", LargeBinary),
    Column("error", Text),
    ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.job_id"], ondelete="CASCADE"),
    Index(None, "catalogue_version"),
)

#: Behaviour tasks, kept as `analysis_requests` are. `sample_size` is null in mode all_jobs; `done` and `total` count jobs, null at first.
#: `state` is pending, done, failed or cancelled; `error` why it failed.
behaviour_tasks = Table(
    "behaviour_tasks",
    metadata,
    _id("workspace_id"),
    _id("uid"),
    _text("group_id"),
    _text("sampling_mode"),
    _text("steps_json"),
    Column("sample_size", BigInteger),
    Column("scoring_limit", BigInteger, nullable=False),
    _text("data_digest"),
    _text("state"),
    Column("live_key", Text),
    Column("done", BigInteger),
    Column("total", BigInteger),
    Column("error", Text),
    Column("ended_at", BigInteger),
    _time("created_at"),
    Column("created_by", Text),
    UniqueConstraint("workspace_id", "live_key"),
    ForeignKeyConstraint(["workspace_id", "group_id"], ["groups.workspace_id", "groups.group_id"]),
    Index(None, "workspace_id", "group_id", "created_at"),
    Index(None, "state", "created_at"),
)

#: What a behaviour task has so far, JSON in zstd: its frozen `sample`, the `study`, and with examples the `result`.
behaviour_parts = Table(
    "behaviour_parts",
    metadata,
    _id("workspace_id"),
    _id("uid"),
    _id("name"),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(["workspace_id", "uid"], ["behaviour_tasks.workspace_id", "behaviour_tasks.uid"], ondelete="CASCADE"),
)

#: Numbers handed out under a row lock: `created_at` holds the last creation time given to any job; the row `blobs` is held, in part by who
#: names blobs in new rows and whole by who removes blobs that no row names.
counters = Table("counters", metadata, _id("name"), Column("value", BigInteger, nullable=False))

#: Durable background work, one row for what a workspace wants of a kind and key: `state` is pending, claimed, done, failed or cancelled.
#: The worker that claimed it wrote `token`, and changes the row only while that stands there. `attempts` counts claims since a step was
#: last finished; again_* is a wish that came while the work was being done.
work = Table(
    "work",
    metadata,
    _id("work_id"),
    _text("workspace_id"),
    _text("kind"),
    _text("key"),
    _text("args_json"),
    _text("state"),
    Column("rank", Integer, nullable=False),
    _time("due_at"),
    _time("requested_at"),
    Column("ended_at", BigInteger),
    Column("token", Text),
    Column("worker_id", Text),
    Column("attempts", Integer, nullable=False),
    Column("cancel", Boolean, nullable=False),
    Column("done", BigInteger),
    Column("total", BigInteger),
    Column("error", Text),
    Column("again_json", Text),
    Column("again_at", BigInteger),
    UniqueConstraint("workspace_id", "kind", "key"),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"]),
    Index(None, "state", "rank", "due_at"),
)

#: The finished steps of work that has not ended, with what they answered.
work_steps = Table(
    "work_steps",
    metadata,
    _id("work_id"),
    _id("name"),
    _text("result_json"),
    ForeignKeyConstraint(["work_id"], ["work.work_id"], ondelete="CASCADE"),
)

#: Worker processes; one that has not written `seen_at` for a while is dead, and others take over what it held.
workers = Table(
    "workers",
    metadata,
    _id("worker_id"),
    _text("host"),
    Column("pid", BigInteger, nullable=False),
    _text("version"),
    _time("started_at"),
    _time("seen_at"),
)

#: Blobs from which something was moved into a pack, and when: a reader may still be in the middle of one.
retired_blobs = Table("retired_blobs", metadata, _id("blob"), _time("retired_at"))
