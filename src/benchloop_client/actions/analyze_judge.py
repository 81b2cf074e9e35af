"""A model's second opinion, over any endpoint of the OpenAI kind: within a budget, never twice for the same thing, the key nowhere else.

The address and the model come from the person's options, never from what is analysed. Redirects are not followed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from benchloop_analysis.judge import Answer, Opinion, Question
from benchloop_client._calls import Body, Call
from benchloop_client._http import Http
from benchloop_client.addresses import Origin, check_host
from benchloop_client.errors import ApiError, AuthError, BenchloopError, NetworkError, UsageError, one_line
from benchloop_client.settings import Settings
from benchloop_client.transfer import files

#: Tokens of an answer, at most.
ANSWER_TOKENS = 700
_CHAT = "chat/completions"
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Whom to ask. `price`: US dollars for a million tokens sent, and received. `budget`: US dollars for the whole run.

    `key` goes to the origin of `url` and to nobody else. `cache`: the folder of answers, None without one.
    """

    url: str
    model: str
    price: tuple[float, float]
    budget: float = 1.0
    key: str | None = field(default=None, repr=False)
    cache: Path | None = None

    def check(self, *, allow_http: bool = False) -> None:
        """Raises `UsageError` for an address that cannot be used, or that would send the key in clear text."""
        origin = Origin.of(check_host(self.url))
        if self.key and origin.scheme == "http" and not origin.loopback and not allow_http:
            raise UsageError(f"the judge's key is not sent to {origin} in clear text: use https, or --allow-http")


@dataclass
class JudgeTotals:
    """What became of all questions, and what they cost in US dollars."""

    asked: int = 0
    cached: int = 0
    refined: int = 0
    agreed: int = 0
    abstained: int = 0
    refused: int = 0
    skipped: int = 0
    cost_usd: float = 0.0

    def add(self, made: Opinion | None) -> None:
        """Count one opinion; None: there was no budget left to ask."""
        if made is None:
            self.skipped += 1
            return
        self.cached += made.cached
        self.asked += not made.cached
        setattr(self, made.status, getattr(self, made.status) + 1)
        self.cost_usd += 0.0 if made.cached else made.cost_usd or 0.0

    def sentence(self) -> str:
        """What to tell at the end."""
        said = f"judge: {self.asked} asked, {self.cached} from the cache; "
        said += f"{self.refined} refined, {self.agreed} agreed, {self.abstained} abstained"
        unused = f", {self.refused} answers not believed" if self.refused else ""
        left = f"; {self.skipped} not asked, the budget is used up" if self.skipped else ""
        return f"{said}{unused}{left}; cost {self.cost_usd:.4f} USD"


class EndpointJudge:
    """Asks an endpoint. Not safe between threads: the budget is counted here."""

    def __init__(self, options: JudgeOptions, settings: Settings, cancel: threading.Event | None = None) -> None:
        options.check(allow_http=settings.allow_http)
        self._options = options
        self._spent = 0.0
        base = check_host(options.url)
        host = base.removesuffix(f"/{_CHAT}")
        self._http = Http(replace(settings, host=host, api_key=None, concurrency=1), cancel or threading.Event())

    @property
    def model(self) -> str:
        """The model's name."""
        return self._options.model

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def ask(self, question: Question) -> Answer | None:
        """The answer, from the cache if it is there; None where it could cost more than is left.

        Raises `AuthError`, `NetworkError` or `ApiError` when the endpoint gives none; the key is in no message.
        """
        kept = self._kept(question)
        if kept is not None:
            return kept
        if self._spent + self._at_most(question) > self._options.budget:
            return None
        answer = self._answer(question, self._sent(question))
        self._spent += answer.cost_usd or 0.0
        self._keep(question, answer)
        return answer

    def _at_most(self, question: Question) -> float:
        sent, received = self._options.price
        return (question.most_tokens * sent + ANSWER_TOKENS * received) / _MILLION

    def _sent(self, question: Question) -> Any:
        body = {
            "model": question.model,
            "messages": [{"role": message.role, "content": message.content} for message in question.messages],
            "temperature": 0,
            "max_tokens": ANSWER_TOKENS,
        }
        headers = {"Authorization": f"Bearer {self._options.key}"} if self._options.key else {}
        data = files.json_bytes(body, pretty=False)
        call = Call("POST", _CHAT, headers=headers, body=Body.of(data, content_type="application/json"), repeatable=False)
        try:
            return self._http.json(call)
        except (ApiError, AuthError, NetworkError) as error:
            raise self._masked(error) from None

    def _masked(self, error: BenchloopError) -> BenchloopError:
        said = str(error)
        if self._options.key:
            said = said.replace(self._options.key, "***")
        kind = NetworkError if isinstance(error, NetworkError) else AuthError if isinstance(error, AuthError) else BenchloopError
        return kind(f"the judge at {Origin.of(self._options.url)}: {one_line(said)}")

    def _answer(self, question: Question, given: Any) -> Answer:
        """The text and the tokens. An answer of another shape is an empty text, which nobody believes."""
        choices = given.get("choices") if isinstance(given, Mapping) else None
        message = choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
        content = message.get("content") if isinstance(message, Mapping) else None
        usage = given.get("usage") if isinstance(given, Mapping) else None
        sent, received = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return Answer(
            text=content if isinstance(content, str) else "",
            prompt_tokens=sent,
            completion_tokens=received,
            cost_usd=self._cost(question, sent, received),
        )

    def _cost(self, question: Question, sent: int | None, received: int | None) -> float:
        """By the price; where the endpoint does not count tokens, what it can have cost at most."""
        if sent is None or received is None:
            return self._at_most(question)
        return (sent * self._options.price[0] + received * self._options.price[1]) / _MILLION

    def _path(self, question: Question) -> Path | None:
        return self._options.cache / f"{question.key}.json" if self._options.cache is not None else None

    def _kept(self, question: Question) -> Answer | None:
        path = self._path(question)
        if path is None:
            return None
        try:
            answer = msgspec.json.decode(path.read_bytes(), type=Answer)
        except (OSError, msgspec.MsgspecError, ValueError):
            return None
        return msgspec.structs.replace(answer, cached=True)

    def _keep(self, question: Question, answer: Answer) -> None:
        path = self._path(question)
        if path is not None and answer.text:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.place_bytes(path, files.json_bytes(msgspec.to_builtins(answer)), root=path.parent)


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
