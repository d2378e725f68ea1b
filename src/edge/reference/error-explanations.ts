/** When each error comes and what to do about it: what docs/errors.md and /docs/errors say beside the table of codes. */
import type { DomainErrorCode } from "../../platform/errors.ts";

/** The sections of the page, in its order. */
export const errorGroups = [
  "Body",
  "Headers and query",
  "Credentials",
  "Resources",
  "Transport",
  "State of a session",
  "Meaning",
  "Ours",
] as const;

/** A group, and Markdown. Links are relative to docs/. */
export type Explanation = { readonly group: (typeof errorGroups)[number]; readonly text: string };

const inGroup =
  (group: Explanation["group"]) =>
  (text: string): Explanation => ({ group, text });
const body = inGroup("Body");
const headers = inGroup("Headers and query");
const credentials = inGroup("Credentials");
const resources = inGroup("Resources");
const transport = inGroup("Transport");
const state = inGroup("State of a session");
const meaning = inGroup("Meaning");
const ours = inGroup("Ours");

/** Every code, in the order of the page. */
export const explanations = {
  invalid_json: body(
    "The body is not one JSON value in UTF-8: cut short, a trailing comma, a lone surrogate. Mend the writer of the body.",
  ),
  missing_field: body('A required field is absent, or empty (`""`, `0`), which counts as absent. `errors` names each.'),
  invalid_field: body(
    "A field is null, has the wrong type or breaks its rule: `amountMinor` not a whole number from 1 to 999999999999, or given as a string; `currency` not an upper-case ISO 4217 code of money in circulation; `orderRef` nothing but blanks, longer than 255 characters or with control characters; `customerEmail` not an address.",
  ),
  unknown_field: body("A field that the request does not have, mostly a misspelt one. Names are camelCase."),
  duplicate_field: body("A field comes twice in one object. Which one was meant cannot be told."),
  test_card_required: body(
    "From the vault. A card that is no test card was entered in the test environment. Use one of the [test cards](../README.md#pay-something); real cards never belong into test.",
  ),
  invalid_idempotency_key: headers(
    "`Idempotency-Key` is empty, longer than 255 characters, or has characters other than printable ASCII. A UUID will do.",
  ),
  duplicate_header: headers(
    "`Host`, `Authorization`, `Content-Type`, `Content-Encoding` or `Idempotency-Key` comes twice, on any path. A proxy may have added the second.",
  ),
  invalid_parameter: headers(
    "A query parameter is unknown or breaks its rule (`pageSize` is 1 to 100), a page token belongs to another list or is older than a day, or `Host` names no host. Also for what is not valid HTTP/1.1, for an `Expect` other than `100-continue` and for a `Transfer-Encoding` other than `chunked`; the connection is then closed.",
  ),
  invalid_key: credentials(
    "The key is missing, malformed, unknown or revoked; the answer does not say which. Send `Authorization: Bearer <secret key>`. Regenerating keys revokes the old ones at once. For a gateway's notification: it is not signed with that connection's secret.",
  ),
  invalid_client_secret: credentials(
    "The client secret does not open this session, or the session ended more than a day ago. From the vault: `sdkAuthorization` is missing, altered or over. Pass all three values of the create answer as they came.",
  ),
  invalid_sign_in: credentials(
    "From the dashboard: the address, the password or the code is not right; the answer does not say which. A code works once.",
  ),
  sign_in_required: credentials("From the dashboard: the sign-in is over or was ended. Sign in again."),
  fresh_sign_in_required: credentials(
    "From the dashboard: keys, gateways and roles ask for a proof that is not older than 15 minutes. Give the password again.",
  ),
  role_not_allowed: credentials("From the dashboard: an owner of the merchant can give you the role that this needs."),
  key_type_not_allowed: credentials(
    "A publishable key was sent to an endpoint for backends. Use the secret key, on your backend.",
  ),
  origin_not_allowed: credentials(
    "The page that runs the widget is not among the merchant's checkout origins. In test an empty list allows every page; in live it allows none. From the vault: something other than the card frame sent a card.",
  ),
  not_found: resources(
    "There is nothing at this path, or no session with this id for this key. Sessions of another merchant or of the other environment are not found either.",
  ),
  token_not_found: resources(
    "The vault does not know the card token. Reserved: no API that you call answers it today.",
  ),
  token_expired: resources("The card token is too old to be used. Reserved: no API that you call answers it today."),
  method_not_allowed: resources("The path exists and does not have this method. `Allow` lists those that it has."),
  request_timeout: transport(
    "The headers did not arrive within 10 seconds, or the request within 30. The connection is closed. Repeat the request.",
  ),
  payload_too_large: transport(
    "The body is larger than 64 KiB, a gateway's notification larger than 256 KiB. No valid request comes near it.",
  ),
  unsupported_media_type: transport("Send `Content-Type: application/json`, in UTF-8."),
  unsupported_encoding: transport("The body is compressed. Send it as it is."),
  headers_too_large: transport(
    "The target and the headers together are larger than 16 KiB, or there are more than 100 headers.",
  ),
  idempotency_in_progress: state(
    "With `Retry-After: 1`. The first request with this `Idempotency-Key` has been running for five seconds. Repeat this one.",
  ),
  already_submitted: state(
    "The session is being paid with another card. Wait for its outcome: ask for the session, do not create another.",
  ),
  session_expired: state(
    "The session was not paid in time (30 minutes). Create another one for the same order, with another `Idempotency-Key`.",
  ),
  session_ended: state(
    "The session has an outcome already. Read it; to try another card after a decline, create another session.",
  ),
  token_used: state("The card token has no uses left. Reserved: no API that you call answers it today."),
  state_conflict: state(
    "From the dashboard's calls and the command line: the thing is in a state that does not allow this, or somebody changed it since you read it. `detail` says which; read it again.",
  ),
  idempotency_key_reused: meaning(
    "This `Idempotency-Key` came with another body within the last 24 hours. Use a new key for a new session; a repeat needs exactly the same fields.",
  ),
  endpoint_not_allowed: meaning(
    "The webhook address cannot be used: not HTTPS in live, not a public address, a port other than 443 or 8443 in live, or the merchant has 16 endpoints already.",
  ),
  rate_limited: meaning(
    "With `Retry-After`: wait for the seconds that it names, then repeat with the same `Idempotency-Key`; nothing was done. From the API: more requests than the [limit](integration.md#limits) of the merchant in this environment, 100 a second after the first 200 unless the operator has set another. From the vault: too many cards were entered, from one address, for one merchant, or for one session (ten); for a session with ten cards, create another one.",
  ),
  internal: ours("A bug of ours. Repeat once; if it stays, report the `requestId`, by which the log names the cause."),
  unavailable: ours(
    "With `Retry-After: 1`. The database cannot be reached or is restarting, or the external card vault opens no session for a payment. Repeat, with growing pauses.",
  ),
  deadline_exceeded: ours(
    "The answer took longer than the caller allowed, on gRPC and Connect. The work may have been done: ask, or repeat with the same `Idempotency-Key`.",
  ),
} satisfies Record<DomainErrorCode, Explanation>;
