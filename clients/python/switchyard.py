"""Calls the REST API of Switchyard and verifies its webhooks. Python 3.9 and newer, standard library only.

>>> payments = Switchyard("https://pay.example.com/api/v1", os.environ["SECRET_KEY"])
>>> session = payments.create_session({"amountMinor": 4900, "currency": "EUR", "orderRef": "order-1"})
>>> session["clientSecret"]

Requests and answers are dicts with the names of the REST API (openapi.json describes them); amounts are whole numbers
in minor units. Every call fails with ApiError. An object may be used by several threads.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import random
import re
import ssl
import time
import uuid
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.1.0"
__all__ = ["ApiError", "Switchyard", "WebhookVerificationError", "verify_webhook"]

Json = Dict[str, Any]

# Captures, refunds and charges wait up to 20 s for the gateway.
_GATEWAY_TRY_SECONDS = 25.0
_PAUSE_FIRST_SECONDS = 0.25
_PAUSE_LONGEST_SECONDS = 5.0
# If the service asks to wait longer than this, the caller does better to get the error.
_RETRY_AFTER_SECONDS_MAX = 10.0
# A page of 100 sessions is well under 1 MiB.
_ANSWER_BYTES_MAX = 4 * 1024 * 1024


class ApiError(Exception):
    """A call that failed. Decide by `code`; the message is for people."""

    def __init__(self, detail: str, *, code: str, status: Optional[int] = None, temporary: bool = False,
                 refusal: Optional[Mapping[str, Any]] = None, request_id: Optional[str] = None,
                 retry_after: Optional[float] = None) -> None:
        refusal = refusal or {}
        problems: List[Json] = list(refusal.get("errors") or [])
        leading = next((one for one in problems if one.get("code") == code), problems[0] if problems else None)
        param = refusal.get("param") or (leading or {}).get("param")
        super().__init__(_describe(detail, param, problems, leading))
        #: One of docs/errors.md; `unexpected_answer` if something other than the service answered. `unavailable` or
        #: `deadline_exceeded` without a status: no answer came.
        self.code = code
        #: HTTP status; None if no answer came.
        self.status = status
        #: True if the same request may succeed later.
        self.temporary = temporary
        #: First field or parameter that broke a rule.
        self.param: Optional[str] = param
        #: Every field that broke a rule: param, code, detail and pointer.
        self.problems = problems
        #: Present state of the session, where a cancellation or a replacement was refused.
        self.state: Optional[Json] = refusal.get("state")
        self.request_id: Optional[str] = refusal.get("requestId") or request_id
        #: Seconds that the service asked to wait.
        self.retry_after = retry_after
        #: Number of times the request was sent.
        self.tries = 1
        #: Key of a creation: with it, the same call can be made again, even much later.
        self.idempotency_key: Optional[str] = None


def _describe(detail: str, param: Optional[str], problems: Sequence[Json], leading: Optional[Json]) -> str:
    """Returns the detail with the first field that broke a rule, so that a log line alone says what to change."""
    first = next((one for one in problems if one.get("param") == param), leading)
    field = first.get("param") if first else param
    rule = first.get("detail", "") if first else ""
    if not field or (rule and rule in detail):
        return detail
    others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{_without_stop(detail)}: {field}{' ' + _without_stop(rule) if rule else ''}{others}."


def _without_stop(text: str) -> str:
    return text[:-1] if text.endswith(".") else text


class Switchyard:
    """Repeats a call after a pause when no answer came, after 408, 429 and 5xx other than 501, and after 409
    `idempotency_in_progress`; a creation always with the same Idempotency-Key, so that it makes one session.

    `try_timeout` bounds one request (15 s; 25 s for calls that wait for a gateway), `timeout` a call with its repeats
    (45 s), `tries_max` the requests of a call (4). Raises ValueError for an address, key or bound that cannot be one.
    """

    def __init__(self, rest_base: str, secret_key: str, *, try_timeout: Optional[float] = None, timeout: float = 45.0,
                 tries_max: int = 4, ssl_context: Optional[ssl.SSLContext] = None) -> None:
        url = urlsplit(rest_base)
        plain = url.hostname and not (url.username or url.password or url.query or url.fragment)
        if not plain or url.scheme not in ("http", "https"):
            raise ValueError("rest_base must be an http or https address without user, query and fragment.")
        first = 15.0 if try_timeout is None else try_timeout
        for name, value in (("try_timeout", first), ("timeout", timeout), ("tries_max", tries_max)):
            if not value > 0:
                raise ValueError(f"{name} must be more than 0.")
        self._host, self._port, self._path = str(url.hostname), url.port, url.path.rstrip("/")
        self._origin = f"{url.scheme}://{url.netloc}"
        self._tls = (ssl_context or ssl.create_default_context()) if url.scheme == "https" else None
        self._secret_key = _header_text("secret_key", secret_key)
        self._try_timeout, self._timeout, self._tries_max = try_timeout, timeout, tries_max

    def __repr__(self) -> str:
        return f"Switchyard({self._origin + self._path!r})"

    # Sessions

    def create_session(self, session: Mapping[str, Any], *, idempotency_key: Optional[str] = None) -> Json:
        """Creates a session. Choose a key, such as the order's number with that of the payment attempt: every call
        with it returns the first session for 24 hours. Without one, a key is made for this call alone."""
        return self._create("/payment-sessions", session, idempotency_key)

    def create_setup(self, setup: Mapping[str, Any], *, idempotency_key: Optional[str] = None) -> Json:
        """Creates a session that stores a card without a payment. The key is as that of create_session."""
        return self._create("/setup-sessions", setup, idempotency_key)

    def get_session(self, session_id: str) -> Json:
        """Returns a session with its attempt trail."""
        return self._call("GET", _path("payment-sessions", session_id), "sessionId")

    def list_sessions(self, **filters: Any) -> Json:
        """Returns one page of sessions, newest first; `pageToken` continues after a page with the same filters."""
        return self._call("GET", "/payment-sessions" + _query(filters), "paymentSessions")

    def each_session(self, **filters: Any) -> Iterator[Json]:
        """Yields every matching session, newest first, and reads pages as they are needed."""
        return _each(self.list_sessions, "paymentSessions", filters)

    def capture_session(self, session_id: str, amount_minor: Optional[int] = None) -> Json:
        """Captures a held payment, whole or in part. A repeat with the same amount captures nothing twice."""
        body = {} if amount_minor is None else {"amountMinor": amount_minor}
        return self._call("POST", _path("payment-sessions", session_id, "capture"), "sessionId", body, waits=True)

    def cancel_session(self, session_id: str) -> Json:
        """Cancels a session that was not submitted, or a held payment. A repeat returns it as it stands."""
        return self._call("POST", _path("payment-sessions", session_id, "cancel"), "sessionId")

    # Refunds

    def create_refund(self, session_id: str, refund: Mapping[str, Any], *, idempotency_key: str) -> Json:
        """Refunds a captured payment, whole or in part. The same key names the same refund for ever, so a repeat
        refunds nothing twice: choose the id of the return in your system."""
        path = _path("payment-sessions", session_id, "refunds")
        return self._call("POST", path, "refundId", refund, idempotency_key, waits=True)

    def get_refund(self, session_id: str, refund_id: str) -> Json:
        """Returns a refund."""
        return self._call("GET", _path("payment-sessions", session_id, "refunds", refund_id), "refundId")

    # Disputes

    def list_disputes(self, **filters: Any) -> Json:
        """Returns one page of disputes, newest first."""
        return self._call("GET", "/disputes" + _query(filters), "disputes")

    def get_dispute(self, dispute_id: str) -> Json:
        """Returns a dispute with its movements of money."""
        return self._call("GET", _path("disputes", dispute_id), "disputeId")

    # Stored cards

    def list_payment_methods(self, **filters: Any) -> Json:
        """Returns one page of stored cards, newest first."""
        return self._call("GET", "/payment-methods" + _query(filters), "paymentMethods")

    def get_payment_method(self, payment_method_id: str) -> Json:
        """Returns a stored card."""
        return self._call("GET", _path("payment-methods", payment_method_id), "paymentMethodId")

    def delete_payment_method(self, payment_method_id: str) -> None:
        """Deletes a stored card for ever. A repeat is harmless."""
        self._call("DELETE", _path("payment-methods", payment_method_id), None)

    def list_agreements(self, **filters: Any) -> Json:
        """Returns one page of agreements, newest first."""
        return self._call("GET", "/agreements" + _query(filters), "agreements")

    def get_agreement(self, agreement_id: str) -> Json:
        """Returns an agreement with its charges."""
        return self._call("GET", _path("agreements", agreement_id), "agreementId")

    def cancel_agreement(self, agreement_id: str) -> Json:
        """Ends an agreement for ever. A repeat returns it as it stands."""
        return self._call("POST", _path("agreements", agreement_id, "cancel"), "agreementId")

    def charge_agreement(self, agreement_id: str, charge: Mapping[str, Any], *, idempotency_key: str) -> Json:
        """Charges an agreement without the customer, and waits for the gateway. The same key names the same try for
        ever, and a charge is paid once at most, however often it is tried."""
        path = _path("agreements", agreement_id, "payment-sessions")
        return self._call("POST", path, "sessionId", charge, idempotency_key, waits=True)

    def create_recovery_link(self, agreement_id: str, link: Mapping[str, Any]) -> Json:
        """Makes the link by which the customer pays a charge that is not paid. Send it to the customer alone."""
        return self._call("POST", _path("agreements", agreement_id, "recovery-links"), "url", link)

    # How a call is made

    def _create(self, path: str, body: Mapping[str, Any], idempotency_key: Optional[str]) -> Json:
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        try:
            return self._call("POST", path, "clientSecret", body, key)
        except ApiError as error:
            error.idempotency_key = key
            raise

    def _call(self, method: str, path: str, member: Optional[str], body: Optional[Mapping[str, Any]] = None,
              idempotency_key: Optional[str] = None, *, waits: bool = False) -> Json:
        """`member` is always present in an answer of the service; without it, another server has answered."""
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self._secret_key}",
                   "User-Agent": f"switchyard-python/{__version__}"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = _header_text("idempotency_key", idempotency_key)
        sent = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            sent = json.dumps(body, allow_nan=False).encode()
        try_seconds = self._try_timeout or (_GATEWAY_TRY_SECONDS if waits else 15.0)
        ends_at = time.monotonic() + self._timeout
        tries = 0
        while True:
            tries += 1
            try:
                left = ends_at - time.monotonic()
                return self._exchange(method, path, member, headers, sent, min(try_seconds, max(left, 0.001)))
            except ApiError as error:
                error.tries = tries
                pause = _pause_seconds(error, tries)
                if pause is None or tries >= self._tries_max or pause >= ends_at - time.monotonic():
                    raise
            time.sleep(pause)

    def _exchange(self, method: str, path: str, member: Optional[str], headers: Mapping[str, str],
                  body: Optional[bytes], seconds: float) -> Json:
        ends_at = time.monotonic() + seconds
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=seconds, context=self._tls)
        try:
            connection.request(method, self._path + path, body, dict(headers))
            answer = connection.getresponse()
            text = bytearray()
            while len(text) <= _ANSWER_BYTES_MAX:
                left = ends_at - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                chunk = answer.read1(65_536)
                if not chunk:
                    break
                text += chunk
            if answer.length:
                raise ConnectionError("the connection broke in the middle of the answer")
        except TimeoutError as error:
            detail = f"{self._origin} gave no answer: it took longer than {seconds:g} s."
            raise ApiError(detail, code="deadline_exceeded", temporary=True) from error
        except (OSError, http.client.HTTPException) as error:
            # Python 3.9 has a class of its own for a socket's time-out.
            code = "deadline_exceeded" if type(error).__name__ == "timeout" else "unavailable"
            reason = str(error) or type(error).__name__
            raise ApiError(f"{self._origin} gave no answer: {reason}.", code=code, temporary=True) from error
        finally:
            connection.close()
        return _read(answer, bytes(text), member)


def _read(answer: http.client.HTTPResponse, text: bytes, member: Optional[str]) -> Json:
    """Returns the body of an answer of the service. Raises ApiError for a refusal and for another server's answer."""
    status = answer.status
    request_id = answer.getheader("Request-Id")
    body = _object(text) if len(text) <= _ANSWER_BYTES_MAX else None
    if 200 <= status < 300:
        if body is not None and (member is None or member in body):
            return body
        detail = f"The answer is HTTP {status}, but not the service's."
        raise ApiError(detail, code="unexpected_answer", status=status, request_id=request_id)
    # A proxy in between may answer in another format.
    known = body is not None and isinstance(body.get("code"), str) and isinstance(body.get("detail"), str)
    refusal = body if known and body is not None else {}
    redirect = ", a redirect, which is not followed" if 300 <= status < 400 else ""
    code = refusal.get("code", "unexpected_answer")
    # 501 is permanent; a conflict is temporary only while the first request with the key is under way.
    temporary = code == "idempotency_in_progress" if status == 409 else (
        status in (408, 429) or (status >= 500 and status != 501))
    raise ApiError(refusal.get("detail", f"The answer is HTTP {status}{redirect}."), code=code, status=status,
                   temporary=temporary, refusal=refusal, request_id=request_id,
                   retry_after=_retry_after(answer.getheader("Retry-After")))


def _pause_seconds(error: ApiError, tries: int) -> Optional[float]:
    """Returns the pause after the failed request number `tries`, or None when another one is of no use. Full jitter,
    so that clients that failed together do not return together; never shorter than the service asked for."""
    asked = error.retry_after or 0.0
    if not error.temporary or asked > _RETRY_AFTER_SECONDS_MAX:
        return None
    return asked + random.random() * min(_PAUSE_LONGEST_SECONDS, _PAUSE_FIRST_SECONDS * 2 ** (tries - 1))


def _retry_after(header: Optional[str]) -> Optional[float]:
    """Parses Retry-After: seconds or a date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    if re.fullmatch(r"\s*[0-9]+\s*", header):
        return float(header)
    try:
        seconds = (parsedate_to_datetime(header) - datetime.now(timezone.utc)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None


def _object(text: bytes) -> Optional[Json]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _header_text(name: str, text: str) -> str:
    """Returns the text unchanged. Raises ValueError, without the text, if no header can carry it."""
    if isinstance(text, str) and re.fullmatch(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", text):
        return text
    raise ValueError(f"{name} must be printable ASCII, without a space or a line's end around it.")


def _path(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def _query(filters: Mapping[str, Any]) -> str:
    pairs = {name: _query_text(value) for name, value in filters.items() if value is not None}
    return f"?{urlencode(pairs)}" if pairs else ""


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("A time needs a time zone, such as datetime.now(timezone.utc).")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return str(value)


def _each(list_page: Any, member: str, filters: Mapping[str, Any]) -> Iterator[Json]:
    token = None
    while True:
        page = list_page(**filters, pageToken=token)
        yield from page[member]
        token = page.get("nextPageToken")
        if token is None:
            return


# Webhooks

_TOLERANCE_SECONDS_MAX = 300


class WebhookVerificationError(Exception):
    """A request to answer with 400: nothing proves that the service sent it. `reason` is missing_header,
    outside_tolerance, invalid_signature or unreadable_body."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def verify_webhook(body: bytes, headers: Union[Mapping[str, str], Iterable[Any]], secrets: Union[str, Sequence[str]],
                   *, tolerance_seconds: int = _TOLERANCE_SECONDS_MAX) -> Json:
    """Returns the event of a genuine webhook.

    `body` are the bytes as they were received, `headers` those of the request in any case, `secrets` one signing
    secret as the service showed it, or two during a rotation. Raises WebhookVerificationError for any other request,
    and TypeError or ValueError for mistakes in the receiver's own code. Standard Webhooks 1.0.0,
    https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    """
    if not isinstance(body, (bytes, bytearray)):
        raise TypeError("Pass the raw body: the bytes as received. Printing a parsed body again gives other bytes.")
    if not 0 < tolerance_seconds <= _TOLERANCE_SECONDS_MAX:
        raise ValueError(f"tolerance_seconds must be at most {_TOLERANCE_SECONDS_MAX}.")
    keys = [_signing_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("secrets must hold a signing secret.")
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    given = {str(name).lower(): str(value) for name, value in pairs}
    event_id, sent_at, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (event_id and sent_at and signatures):
        raise WebhookVerificationError("missing_header", "A header of the webhook's signature is missing.")
    if not re.fullmatch(r"[0-9]{1,15}", sent_at) or abs(time.time() - int(sent_at)) > tolerance_seconds:
        detail = f"The webhook's time is more than {tolerance_seconds} seconds from now."
        raise WebhookVerificationError("outside_tolerance", detail)
    signed = f"{event_id}.{sent_at}.".encode() + body
    made = [sign_webhook(key, signed) for key in keys]
    found = [text[3:] for text in signatures.split() if text.startswith("v1,")]
    if not any(hmac.compare_digest(one.encode(), other.encode()) for one in made for other in found):
        raise WebhookVerificationError("invalid_signature", "No signature of the webhook is by the signing secret.")
    event = _object(bytes(body))
    if event is None or not isinstance(event.get("type"), str):
        raise WebhookVerificationError("unreadable_body", "The webhook's body is not an event.")
    return event


def sign_webhook(key: bytes, signed: bytes) -> str:
    """Returns the base64 of the HMAC-SHA-256 of `webhook-id.webhook-timestamp.body`."""
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _signing_key(secret: str) -> bytes:
    _, marker, encoded = secret.partition("whsec_")
    try:
        if marker and encoded:
            return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        pass
    # Without the value: an error may be logged.
    raise ValueError("secrets must be signing secrets: text that ends in whsec_ and base64.")
