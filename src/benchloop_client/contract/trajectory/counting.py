"""What can be counted in one trajectory. What the source does not record is None, never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_PREVIEW = 160


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts over one document, without its embedded subagents. All but `n_steps` leave out steps copied from an earlier document.

    Tokens and cost are sums over steps, or the document's own totals where no step records any; `context_peak` is the largest
    prompt + completion of one step; `thinking_chars` counts a reasoning text once where following steps of one turn repeat it;
    `n_tool_errors` is None where no result is marked either way. `tools` counts calls by function name.
    """

    n_steps: int
    n_agent_steps: int
    n_tool_calls: int
    n_tool_errors: int | None
    n_llm_calls: int
    thinking_chars: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    context_peak: int | None
    cost: float | None
    tools: Counter[str] = field(default_factory=Counter)


def counts(document: Mapping[str, Any]) -> Counts:
    """Count a document of the normal form."""
    steps = document["steps"]
    own = [step for step in steps if not step.get("is_copied_context")]
    agent = [step for step in own if step["source"] == "agent"]
    metrics = [step["metrics"] for step in agent if step.get("metrics")]
    totals = document.get("final_metrics") or {}
    tools = Counter(call["function_name"] for step in agent for call in step.get("tool_calls") or ())
    return Counts(
        n_steps=len(steps),
        n_agent_steps=len(agent),
        n_tool_calls=sum(tools.values()),
        n_tool_errors=_tool_errors(own),
        n_llm_calls=_model_calls(agent),
        thinking_chars=_thinking(agent),
        prompt_tokens=_total(metrics, "prompt_tokens", totals.get("total_prompt_tokens")),
        completion_tokens=_total(metrics, "completion_tokens", totals.get("total_completion_tokens")),
        cached_tokens=_total(metrics, "cached_tokens", totals.get("total_cached_tokens")),
        context_peak=_peak(metrics),
        cost=_total(metrics, "cost_usd", totals.get("total_cost_usd")),
        tools=tools,
    )


def _model_calls(agent: list[dict[str, Any]]) -> int:
    """Calls of the model: as counted by the source, else the agent steps with metrics, else all agent steps."""
    if any(step.get("llm_call_count") is not None for step in agent):
        return sum(1 if step.get("llm_call_count") is None else step["llm_call_count"] for step in agent)
    with_metrics = sum(1 for step in agent if step.get("metrics"))
    return with_metrics or len(agent)


def _total(metrics: Iterable[Mapping[str, Any]], key: str, fallback: Any) -> Any:
    values = [entry[key] for entry in metrics if entry.get(key) is not None]
    return sum(values) if values else fallback


def _peak(metrics: Iterable[Mapping[str, Any]]) -> int | None:
    sizes = [
        (entry.get("prompt_tokens") or 0) + (entry.get("completion_tokens") or 0)
        for entry in metrics
        if entry.get("prompt_tokens") is not None or entry.get("completion_tokens") is not None
    ]
    return max(sizes, default=None)


def _thinking(agent: list[dict[str, Any]]) -> int | None:
    texts = [step["reasoning_content"] for step in agent if step.get("reasoning_content") is not None]
    if not texts:
        return None
    repeated = (before == text for before, text in zip([None, *texts], texts, strict=False))
    return sum(0 if again else len(text) for text, again in zip(texts, repeated, strict=True))


def _tool_errors(steps: list[dict[str, Any]]) -> int | None:
    marks = [mark for step in steps for mark in _error_marks(step)]
    return sum(marks) if marks else None


def _error_marks(step: Mapping[str, Any]) -> list[bool]:
    """Marks as harnesses leave them: `is_error` beside a result, or `tool_result_is_error` beside a step with one call."""
    results = (step.get("observation") or {}).get("results") or ()
    marks = [result["extra"]["is_error"] for result in results if isinstance((result.get("extra") or {}).get("is_error"), bool)]
    if not marks and isinstance((step.get("extra") or {}).get("tool_result_is_error"), bool):
        marks = [step["extra"]["tool_result_is_error"]]
    return marks


def step_preview(step: Mapping[str, Any], limit: int = _PREVIEW) -> str:
    """One line that tells what a step is about, at most `limit` characters: its text, else its calls, else its first result."""
    calls = [call["function_name"] for call in step.get("tool_calls") or ()]
    results = (step.get("observation") or {}).get("results") or ()
    text = _plain(step.get("message")) or _plain(step.get("reasoning_content"))
    if calls:
        text = f"{', '.join(calls)}: {text}" if text else ", ".join(calls)
    if not text:
        text = next(filter(None, (_plain(result.get("content")) for result in results)), "")
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content)
    return content or ""
