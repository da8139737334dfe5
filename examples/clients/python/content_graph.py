"""The Content Graph API with httpx: queries, mutations that run once, and subscriptions that resume. Copy this file."""

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

MAX_PAUSE_S = 10.0
ATTEMPTS = 8
# The service sends a heartbeat every 12 seconds: a stream without a byte for this long is dead.
SILENCE_S = 45.0


class ApiError(Exception):
    """The errors of a response. The codes are a closed set."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__("\n".join(error["message"] for error in errors))
        self.errors = errors
        self.codes = [error["extensions"]["code"] for error in errors]


class NoAnswer(Exception):
    """No attempt was answered. A mutation may have run: a later call with the same key finds out."""


def _is_worth_repeating(status: int) -> bool:
    """A timeout, still in progress, too many requests, or an error of the service or a proxy."""
    return status in (408, 409, 429) or status >= 500


def _pause(attempt: int, response: httpx.Response | None, first_s: float) -> None:
    """Waits for as long as the service asks, or twice as long each time. Clients that were cut off together spread out."""
    backoff = min(first_s * 2**attempt, MAX_PAUSE_S) * random.uniform(0.5, 1)
    asked = "" if response is None else response.headers.get("retry-after", "")
    # Seconds. A proxy may send a date (RFC 9110, section 10.2.3).
    time.sleep(max(float(asked) if asked.isdecimal() else 0.0, backoff))


def _data_of(answer: dict[str, Any]) -> dict[str, Any]:
    if "errors" in answer:
        raise ApiError(answer["errors"])
    return answer["data"]


class ContentGraph:
    """Calls the service at `url`, which ends with /graphql. One for all calls keeps its connections open."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._http = httpx.Client(headers={"authorization": f"Bearer {key}"}, timeout=15)

    def query(self, text: str, **variables: Any) -> dict[str, Any]:
        return _data_of(self._http.post(self._url, json={"query": text, "variables": variables}).json())

    def pages(self, text: str, connection: Callable[[dict[str, Any]], dict[str, Any]], **variables: Any) -> Iterator[Any]:
        """The nodes of a connection to its end. The query takes `$after` and selects `pageInfo { hasNextPage endCursor }`."""
        after = None
        while True:
            page = connection(self.query(text, after=after, **variables))
            yield from page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return
            after = page["pageInfo"]["endCursor"]

    def mutate(self, text: str, key: str, **variables: Any) -> dict[str, Any]:
        """Repeats the mutation until it is answered. It takes effect once for each key: store the key with the task."""
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                _pause(attempt - 1, response, 0.2)
            response = None
            try:
                response = self._http.post(
                    self._url,
                    json={"query": text, "variables": variables},
                    headers={"idempotency-key": f'"{key}"'},
                )
            except httpx.TransportError:
                pass  # It may or may not have run. The key makes it safe to ask again.
            if response is not None and not _is_worth_repeating(response.status_code):
                return _data_of(response.json())
        raise NoAnswer(key)

    def subscribe(
        self, text: str, last_id: str | None = None, **variables: Any
    ) -> Iterator[tuple[str | None, dict[str, Any] | None]]:
        """
        The events after `last_id`, each with its id, over broken connections and restarts of the service; None where only
        the position moves, as at the beginning. An ApiError ends it: with the code EVENT_HISTORY_EXPIRED, events are
        gone. Read anew, and subscribe without an id.
        """
        attempt = 0
        while True:
            headers = {"accept": "text/event-stream"} | ({} if last_id is None else {"last-event-id": last_id})
            body = {"query": text, "variables": variables}
            response = None
            try:
                with self._http.stream("POST", self._url, json=body, headers=headers, timeout=SILENCE_S) as response:
                    if response.status_code == 200:
                        for event_id, event, data in _events(_lines(response), last_id):
                            attempt = 0
                            if event == "complete":
                                return
                            has_moved, last_id = event_id != last_id, event_id
                            if event == "next":
                                yield last_id, _data_of(json.loads(data))
                            elif has_moved:
                                yield last_id, None
                    elif not _is_worth_repeating(response.status_code):
                        response.read()
                        raise ApiError(response.json()["errors"])
            except httpx.TransportError:
                pass  # The next attempt goes on after the last id.
            _pause(attempt, response, 1.0)
            attempt += 1


def _lines(response: httpx.Response) -> Iterator[str]:
    """Lines end with LF only: JSON may hold the other characters at which `iter_lines` splits, such as U+2028."""
    rest = b""
    for part in response.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.decode() for line in lines)


def _events(lines: Iterator[str], last_id: str | None) -> Iterator[tuple[str | None, str, str]]:
    """Server-Sent Events: the last id so far, the name and the data of each block. An id alone moves the position."""
    event, data = "", ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            last_id = value
        elif name == "event":
            event = value
        elif name == "data":
            data = value
        elif name == "":
            yield last_id, event, data
            event, data = "", ""
