"""The names of the metrics: what each counts, its unit and its denominator. A value that was not recorded is null, never 0."""

from __future__ import annotations

#: Group level, `run_metrics` of E2/E3: the documented names, in the documented order.
GROUP_RUN: dict[str, str] = {
    "job_count": "jobs in the group (present ones)",
    "avg_duration_s": "seconds from start to finish, mean over jobs with both times",
    "avg_duration_api_s": "seconds spent waiting for the model, mean over jobs whose source records it",
    "avg_thinking_length": "characters of reasoning text a job, mean over jobs with any reasoning recorded",
    "avg_api_call_count": "model calls a job, mean over jobs with a trajectory that counts them",
    "total_api_error_count": "failed model calls, sum over jobs whose source records them",
    "avg_api_error_rate": "failed model calls / model calls, mean over jobs with both",
    "avg_tool_call_count": "tool calls a job, mean over jobs with a trajectory",
    "total_tool_error_count": "tool calls whose result is marked as an error, sum over jobs whose source marks them",
    "avg_tool_error_rate": "marked tool errors / tool calls, mean over jobs with both and at least one call",
    "total_rate_limit_count": "model calls refused by a rate limit, sum over jobs whose source records them",
    "avg_num_turns": "agent steps a job, mean over jobs with a trajectory",
}

_TOKEN_AVG_MAX_TOTAL = ("tokenizer_dedup_input", "tokenizer_user_input", "tokenizer_output_total")
_TOKEN_AVG_MAX = ("tokenizer_output_per_turn", "tokenizer_single_seq_context", "tokenizer_context_peak")

#: Job level, inside `tokenized_metrics` of E1: tokens as the model's API reported them. Names that no source records stay null.
JOB_TOKEN: dict[str, str] = {
    "tokenizer_dedup_input": "input tokens counted once a job; not recorded by any supported source: null",
    "tokenizer_user_input": "tokens of user messages; not recorded by any supported source: null",
    "tokenizer_output_total": "completion tokens of all steps",
    "tokenizer_output_per_turn": "completion tokens / model calls",
    "tokenizer_single_seq_context": "tokens of the job as one sequence; not recorded by any supported source: null",
    "tokenizer_context_peak": "largest prompt + completion tokens of one step",
    "llm_calls": "model calls of the job",
}

#: Job level, inside `run_metrics` of E1.
JOB_RUN: dict[str, str] = {
    "duration_s": "seconds from start to finish",
    "duration_api_s": "seconds spent waiting for the model",
    "thinking_length": "characters of reasoning text",
    "api_call_count": "model calls",
    "api_error_count": "failed model calls",
    "api_error_rate": "failed model calls / model calls",
    "tool_call_count": "tool calls",
    "tool_error_count": "tool calls whose result is marked as an error",
    "tool_error_rate": "marked tool errors / tool calls",
    "rate_limit_count": "model calls refused by a rate limit",
    "num_turns": "agent steps",
}


def group_token_names() -> tuple[str, ...]:
    """The documented names of a group's `tokenized_metrics`, in the documented order."""
    names = ["tokenized_job_count"]
    names += [f"{kind}_{name}" for name in _TOKEN_AVG_MAX_TOTAL for kind in ("avg", "max", "total")]
    names += [f"{kind}_{name}" for name in _TOKEN_AVG_MAX for kind in ("avg", "max")]
    names += [f"{kind}_llm_calls" for kind in ("avg", "max", "total")]
    return tuple(names)
