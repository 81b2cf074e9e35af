"""Questions and answers of a judge as chat endpoints of the OpenAI kind take and give them, and what they cost. Talks to nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from benchloop_analysis.judge import Answer, Question

#: What is appended to the address of an endpoint.
PATH = "chat/completions"
#: Tokens of an answer, at most.
ANSWER_TOKENS = 700
#: The first answer is the likeliest one; further ones show how sure the model is, so they have to be free to differ.
_SPREAD = 0.7
_MILLION = 1_000_000

#: US dollars for a million tokens sent, and received.
Price = tuple[float, float]


def body(question: Question) -> bytes:
    """The request as JSON."""
    return msgspec.json.encode(
        {
            "model": question.model,
            "messages": [{"role": message.role, "content": message.content} for message in question.messages],
            "temperature": 0 if question.sample == 0 else _SPREAD,
            "max_tokens": ANSWER_TOKENS,
        }
    )


def at_most(question: Question, price: Price) -> float:
    """What the question can cost at most, in US dollars."""
    return (question.most_tokens * price[0] + ANSWER_TOKENS * price[1]) / _MILLION


def answer_of(given: Any, question: Question, price: Price) -> Answer:
    """The text and the tokens of a reply. One of another shape is an empty text, which nobody believes."""
    choices = given.get("choices") if isinstance(given, Mapping) else None
    message = choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    usage = given.get("usage") if isinstance(given, Mapping) else None
    sent, received = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return Answer(
        text=content if isinstance(content, str) else "",
        prompt_tokens=sent,
        completion_tokens=received,
        cost_usd=_cost(question, price, sent, received),
    )


def _cost(question: Question, price: Price, sent: int | None, received: int | None) -> float:
    """By the price; where the endpoint does not count tokens, what it can have cost at most."""
    if sent is None or received is None:
        return at_most(question, price)
    return (sent * price[0] + received * price[1]) / _MILLION


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
