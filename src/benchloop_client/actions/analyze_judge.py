"""A model's second opinion, over any endpoint of the OpenAI kind: within a budget, never twice for the same thing, the key nowhere else.

The address and the model come from the person's options, never from what is analysed. Redirects are not followed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from benchloop_analysis import judge_chat
from benchloop_analysis.judge import Answer, Question
from benchloop_client._calls import Body, Call
from benchloop_client._http import Http
from benchloop_client.addresses import Origin, check_host
from benchloop_client.errors import ApiError, AuthError, BenchloopError, NetworkError, UsageError, one_line
from benchloop_client.settings import Settings
from benchloop_client.transfer import files


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


class EndpointJudge:
    """Asks an endpoint. Not safe between threads: the budget is counted here."""

    def __init__(self, options: JudgeOptions, settings: Settings, cancel: threading.Event | None = None) -> None:
        options.check(allow_http=settings.allow_http)
        self._options = options
        self._spent = 0.0
        base = check_host(options.url)
        host = base.removesuffix(f"/{judge_chat.PATH}")
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
        if self._spent + judge_chat.at_most(question, self._options.price) > self._options.budget:
            return None
        answer = judge_chat.answer_of(self._sent(question), question, self._options.price)
        self._spent += answer.cost_usd or 0.0
        self._keep(question, answer)
        return answer

    def _sent(self, question: Question) -> Any:
        headers = {"Authorization": f"Bearer {self._options.key}"} if self._options.key else {}
        body = Body.of(judge_chat.body(question), content_type="application/json")
        call = Call("POST", judge_chat.PATH, headers=headers, body=body, repeatable=False)
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
