"""The client of a Rookery service: every operation of its API as a method, with types made from its description.

It needs nothing but Python's own library. Answers are the JSON that came, typed by `rookery.types`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, cast

from . import types


class RookeryError(Exception):
    """An answer that is no success. Go by `status`; the message is a sentence for people."""

    def __init__(self, status: int, sentence: str, request_id: str | None, retry_after: float) -> None:
        super().__init__(sentence)
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class WebhookError(Exception):
    """A request that is not from the service, or too old."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: the key would go with the request. A redirect is an error like any other."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)


class Rookery:
    """`url` is where the service is, `key` an API key; a call is tried `tries` times, each for `timeout` seconds."""

    def __init__(self, url: str, key: str, *, tries: int = 5, timeout: float = 30) -> None:
        self._base = url.rstrip("/") + "/api/v1"
        self._key = key
        self._tries = tries
        self._timeout = timeout

    def me(self) -> types.Me:
        """Who this key is."""
        return cast(types.Me, self._get("/me"))

    def conversations(self, **query: str | int | None) -> list[types.ConversationSummary]:
        """Newest first. Narrow the list with `view`, `mailbox`, `q`, `assigned`, `limit`, `reference`."""
        return cast(list[types.ConversationSummary], self._get("/conversations", query))

    def conversation(self, id: str, before: str | None = None) -> types.Conversation:
        """One conversation, whole. `before` is `earlier` of an answer before."""
        return cast(types.Conversation, self._get(f"/conversations/{_part(id)}", {"before": before}))

    def mailboxes(self) -> list[types.Mailbox]:
        return cast(list[types.Mailbox], self._get("/mailboxes"))

    def tags(self) -> list[types.Tag]:
        return cast(list[types.Tag], self._get("/tags"))

    def documents(self, **query: str | int | None) -> list[types.DocumentSummary]:
        """Narrow the list with `q`, `kind`, `limit`."""
        return cast(list[types.DocumentSummary], self._get("/documents", query))

    def document(self, id: str) -> types.Document:
        return cast(types.Document, self._get(f"/documents/{_part(id)}"))

    def document_content(self, id: str) -> bytes:
        """The file, as it came from outside: treat it as hostile."""
        return cast(bytes, self._get(f"/documents/{_part(id)}/content"))

    def add_note(self, id: str, note: types.NewNote) -> types.Done:
        return cast(types.Done, self._post(f"/conversations/{_part(id)}/notes", note))

    def set_status(self, id: str, status: types.NewStatus) -> types.Done:
        return cast(types.Done, self._post(f"/conversations/{_part(id)}/status", status))

    def tag(self, id: str, change: types.TagChange) -> types.Done:
        return cast(types.Done, self._post(f"/conversations/{_part(id)}/tags", change))

    def assign(self, id: str, to: types.NewAssignee) -> types.Done:
        return cast(types.Done, self._post(f"/conversations/{_part(id)}/assign", to))

    def reply(self, id: str, reply: types.NewReply) -> types.Written:
        """A draft for a person to approve, or with `send` one that leaves after the undo window."""
        return cast(types.Written, self._post(f"/conversations/{_part(id)}/replies", reply))

    def request_documents(self, id: str, request: types.NewDocumentRequest) -> types.Written:
        return cast(types.Written, self._post(f"/conversations/{_part(id)}/document-requests", request))

    def record_sent(self, mail: types.SentMail) -> types.Done:
        return cast(types.Done, self._post("/app-mail", mail))

    def simulate_inbound(self, mail: types.SimulatedMail) -> types.Simulated:
        """Test keys only: an email of a simulated customer."""
        return cast(types.Simulated, self._post("/sandbox/inbound", mail))

    def simulate_decision(self, id: str, decision: types.SimulatedDecision) -> types.DecidedRequest:
        """Test keys only: what a person does with a request for documents."""
        path = f"/sandbox/document-requests/{_part(id)}/decisions"
        return cast(types.DecidedRequest, self._post(path, decision))

    def simulate_approval(self, id: str, approval: types.SimulatedApproval) -> types.ApprovedDraft:
        """Test keys only: a person approves a draft."""
        return cast(types.ApprovedDraft, self._post(f"/sandbox/drafts/{_part(id)}/approve", approval))

    def advance_sandbox(self, time: types.PassedTime) -> types.AdvancedSandbox:
        """Test keys only: time passes in the sandbox."""
        return cast(types.AdvancedSandbox, self._post("/sandbox/advance", time))

    def events(self, after: str | None = None, only: str | None = None) -> Iterator[types.Event]:
        """What happens from now on, or after `next` of a page that was kept; of all types, or `only` some, with commas."""
        while True:
            page = self.event_page(after=after, types=only, wait=None if after is None else 15)
            for event in page["events"]:
                yield cast(types.Event, event)
            after = page["next"]

    def event_page(self, **query: str | int | None) -> types.EventPage:
        """One page of them (`after`, `types`, `limit`, `wait`), for whoever keeps `next` with what they made of it."""
        return cast(types.EventPage, self._get("/events", query))

    def _get(self, path: str, query: Mapping[str, str | int | None] | None = None) -> Any:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._call("GET", path + ("?" + urllib.parse.urlencode(given) if given else ""), None)

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("POST", path, json.dumps(body).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> Any:
        # By its name the service knows a call that comes again, and does not carry it out twice.
        name, tried = str(uuid.uuid4()), 1
        while True:
            try:
                return self._once(method, path, body, name)
            except RookeryError as error:
                refused, asked = error.status != 429 and error.status < 500, error.retry_after
                if refused or tried >= self._tries:
                    raise
            except OSError:
                if tried >= self._tries:
                    raise
                asked = 0.0
            time.sleep(min(asked or 0.25 * 2**tried * random.uniform(0.75, 1.25), 60))
            tried += 1

    def _once(self, method: str, path: str, body: bytes | None, name: str) -> Any:
        headers = {"Authorization": f"Bearer {self._key}", "User-Agent": "rookery-python/1"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": name}
        asked = urllib.request.Request(self._base + path, data=body, headers=headers, method=method)
        try:
            with _OPENER.open(asked, timeout=self._timeout) as answer:
                is_file = answer.headers.get_content_type() == "application/octet-stream"
                return answer.read() if is_file else json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            try:
                sentence = str(json.loads(text)["error"])
            except (ValueError, KeyError, TypeError):
                sentence = text[:200] or "The answer was empty."
            after = error.headers.get("Retry-After", "")
            seconds = float(after) if _is_number(after) else 0.0
            raise RookeryError(error.code, sentence, error.headers.get("X-Request-Id"), seconds) from None


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> types.Event:
    """The event of a request whose `body` is as it came. WebhookError: not from the service, or over five minutes old."""
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("webhook-timestamp", "")
    if not _is_number(timestamp) or abs(time.time() - int(timestamp)) > 300:
        raise WebhookError("The request is older than five minutes, or has no time.")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([given.get("webhook-id", "").encode(), timestamp.encode(), body])
    wanted = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not any(hmac.compare_digest(one.encode(), wanted) for one in given.get("webhook-signature", "").split(" ")):
        raise WebhookError("No signature fits.")
    return cast(types.Event, json.loads(body))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _part(id: str) -> str:
    return urllib.parse.quote(id, safe="")
