"""A judge behind an endpoint of the OpenAI kind: one request an answer, over TLS or to this machine; redirects are not followed."""

from __future__ import annotations

import http.client
import ssl
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from benchloop_analysis import judge_chat
from benchloop_analysis.judge import Answer, Question
from benchloop_server.kit.judging import JudgeError

_SECONDS = 120.0
_LARGEST = 1 << 20
#: Statuses that may be others in a while; with any other one that is not a success the settings are wrong.
_PASSING = frozenset({408, 409, 425, 429})


class EndpointJudge:
    """Asks `url` (to which `/chat/completions` is added where it is missing). Safe between threads: every question has a connection of its
    own. The key goes into one header and into no message.
    """

    def __init__(self, url: str, model: str, *, key: str | None, price: judge_chat.Price) -> None:
        self._url: SplitResult = urlsplit(url)
        self._model, self._key, self._price = model, key, price
        self._context = ssl.create_default_context() if self._url.scheme == "https" else None

    def __repr__(self) -> str:
        return f"EndpointJudge({self._url.hostname}, {self._model})"

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model

    def ask(self, question: Question) -> Answer:
        """The answer. Raises `JudgeError` where there is none."""
        status, data = self._sent(judge_chat.body(question))
        if not 200 <= status < 300:
            raise JudgeError(
                f"the judge at {self._url.hostname} answered {status}: {self._masked(data)}",
                for_good=status < 500 and status not in _PASSING,
            )
        return judge_chat.answer_of(_decoded(data), question, self._price)

    def _sent(self, body: bytes) -> tuple[int, bytes]:
        connection = self._connection()
        asked = False
        try:
            connection.connect()
            asked = True
            connection.request("POST", self._path(), body=body, headers=self._headers())
            response = connection.getresponse()
            data = response.read(_LARGEST + 1)
            if response.length and len(data) <= _LARGEST:
                raise http.client.IncompleteRead(data, response.length)
        except (OSError, http.client.HTTPException) as error:
            kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise JudgeError(f"the judge at {self._url.hostname} gave no answer ({kind})", paid=asked) from None
        finally:
            connection.close()
        if len(data) > _LARGEST:
            raise JudgeError(f"the judge at {self._url.hostname} answered with more than 1 MiB", for_good=True, paid=True)
        return response.status, data

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._context is not None:
            return http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=_SECONDS)

    def _path(self) -> str:
        path = self._url.path.rstrip("/")
        path = path if path.endswith(f"/{judge_chat.PATH}") else f"{path}/{judge_chat.PATH}"
        return f"{path}?{self._url.query}" if self._url.query else path

    def _headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return {"Content-Type": "application/json", "Accept": "application/json", **key}

    def _masked(self, data: bytes) -> str:
        """One line of what an endpoint says, which may repeat the key."""
        said = data[:2_000].decode("utf-8", "replace")
        if self._key:
            said = said.replace(self._key, "***")
        return " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())[:200]


def _decoded(data: bytes) -> Any:
    """The reply, None where it is no JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
