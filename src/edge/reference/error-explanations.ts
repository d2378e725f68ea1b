/** The cause and remedy of each error: the text of docs/errors.md and /docs/errors beside the table of codes. */
import type { DomainErrorCode } from "../../platform/errors.ts";

export const errorGroups = [
  "Body",
  "Headers and query",
  "Credentials",
  "Resources",
  "Transport",
  "State of a session",
  "Business rules",
  "Errors of the service",
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
const rules = inGroup("Business rules");
const service = inGroup("Errors of the service");

/** Every code, in the order of the page. */
export const explanations = {
  invalid_json: body(
    "The body is not one JSON value in UTF-8. Typical causes: the body is cut short, has a trailing comma or a lone surrogate. Fix the code that writes the body.",
  ),
  missing_body: body(
    "The refund has no body. A client may have dropped it. Nothing was refunded. Send `{}` to refund everything that is left.",
  ),
  missing_field: body(
    "A required field is absent, or an empty text, which counts as absent; a number that is 0 breaks its rule instead (`invalid_field`). `errors` names each missing field. Add them and send the request again.",
  ),
  invalid_field: body(
    'A field is null, has the wrong type or breaks its rule. `errors` names each such field.\n\n| field | rule |\n|---|---|\n| `amountMinor` | a whole number from 1 to 999999999999, not a string |\n| `currency` | an upper-case ISO 4217 code of money in circulation |\n| `orderRef` | at most 255 characters, not only blanks, no control characters |\n| `customerEmail` | an e-mail address |\n| `customerName` | at most 100 characters, not only blanks, no control characters |\n| `billingAddress` | `line1` and `line2` have at most 200 characters, `city` and `region` 100, `postalCode` 16; none is blank or has control characters. `country` is an upper-case ISO 3166-1 alpha-2 code. Only `line2` and `region` may be left out |\n| `metadata` | at most 20 keys; a key has 1 to 40 letters, digits, `_`, `-`, `.` and `:`, and begins with a letter or digit; a value has at most 500 characters and no control characters |\n| `statementDescriptor` | 5 to 22 letters, digits, dots, hyphens and single spaces between them, with a letter among them: what every gateway accepts |\n| `capture` | `automatic` or `manual` |\n| `captureBy` | with `capture: "manual"` only: an RFC 3339 time from a minute to 162 hours after the session expires |',
  ),
  unknown_field: body(
    "The request has a field that the endpoint does not know, mostly because its name is misspelt. Names are camelCase. Correct or remove the field.",
  ),
  duplicate_field: body("A field appears twice in one object, so it is unclear which value is meant. Send it once."),
  test_card_required: body(
    "From the vault: a card that is not a test card was entered in the test environment. Use one of the [test cards](test-cards.md). Never enter real cards in test.",
  ),
  invalid_idempotency_key: headers(
    "`Idempotency-Key` is empty, longer than 255 characters, or has characters other than printable ASCII. Use a UUID, for example.",
  ),
  missing_idempotency_key: headers(
    "A refund needs an `Idempotency-Key`: the same key names the same refund for ever, so a repeat refunds nothing twice. Use the id of the return in your system, for example. So does a session that `replaces` another one: the repeat returns the session that the first call created. So does the charge of an agreement, whose key is kept with the agreement: use the id of your invoice with the number of the try, for example.",
  ),
  duplicate_header: headers(
    "`Host`, `Authorization`, `Content-Type`, `Content-Encoding` or `Idempotency-Key` comes twice, on any path. Send it once. A proxy may have added the second.",
  ),
  invalid_parameter: headers(
    "A part of the request other than its body breaks a rule:\n\n- a query parameter is unknown or breaks its rule (`pageSize` is 1 to 100);\n- a page token belongs to another list or is older than a day;\n- `Host` names no host;\n- the request is not valid HTTP/1.1, or has an `Expect` other than `100-continue` or a `Transfer-Encoding` other than `chunked`. The connection is then closed.\n\nCorrect it and send the request again.",
  ),
  invalid_key: credentials(
    "The request has no key; its `Authorization` header is not of the form `Bearer <key>`; or the key is mistyped, unknown, revoked or expired. `detail` says which of these three it is. Send `Authorization: Bearer <key>` with a secret or restricted key. Regenerating keys revokes the old ones immediately. For a gateway's notification, the code means that the notification is not signed with that connection's secret. For the widget, it means that the publishable key of the session's vault object is not the merchant's, or was replaced: create a new session.",
  ),
  invalid_client_secret: credentials(
    "The client secret does not open this session, or the session ended more than a day ago. From the vault: `sdkAuthorization` is missing, altered or expired. Pass all three values of the create answer unchanged.",
  ),
  invalid_sign_in: credentials(
    "From the dashboard: the address, the password or the code is wrong; the answer does not say which. A code works once: wait for the next one, and try again.",
  ),
  sign_in_required: credentials("From the dashboard: the sign-in expired or was ended. Sign in again."),
  fresh_sign_in_required: credentials(
    "From the dashboard: changes to keys, gateways and roles require a confirmation that is not older than 15 minutes. Enter the password again.",
  ),
  second_factor_required: credentials(
    "From the dashboard: live, and what live and test share, require a second factor, unless the operator has set `SWITCHYARD_DASHBOARD_LIVE_SECOND_FACTOR=optional`. Open your account, under your name, and add an authenticator app or a passkey.",
  ),
  role_not_allowed: credentials(
    "From the dashboard: your role does not allow this. An owner of the merchant can give you the required role.",
  ),
  approval_pending: credentials(
    "From the dashboard: the merchant wants a [second person](second-person.md) for this in live. The call is stored and not run. Another member approves it on the page Home, within 72 hours.",
  ),
  key_type_not_allowed: credentials(
    "A publishable key was sent to an endpoint for backends. Use the secret key, on your backend.",
  ),
  right_not_granted: credentials(
    "A restricted key, or an internal service, called a method, or sent a field, for which it has no right; `detail` names the right. Nothing was read or changed. The rights of a key never change, so [create another key](keys-and-rights.md); those of a service are in the [file of services](grpc.md#services).",
  ),
  refund_cap_exceeded: credentials(
    "A restricted key would refund more in a day (UTC) than its cap for the currency allows; a currency without a cap refunds nothing. Nothing was refunded. `detail` says how much is left today. A key that replaces another one by a roll shares its cap.",
  ),
  roll_in_progress: credentials(
    "From the dashboard: the key was rolled before, and the old one still works. Revoke the old key, or wait for its end, and then roll again.",
  ),
  origin_not_allowed: credentials(
    "The page that runs the widget is not among the merchant's checkout origins. In test an empty list allows every page; in live it allows none. Register the page's origin on the page Settings of the dashboard, or in the file of `switchyard apply`. From the vault: something other than the card frame sent a card.",
  ),
  not_found: resources(
    "Nothing exists at this path, or no session has this id for this key. A key does not find sessions of another merchant or of the other environment. Check the path, the id and the key's environment.",
  ),
  token_not_found: resources(
    "From the widget's `SubmitPayment`: the vault has no card under this token for this session. The session stays open: make a new token and submit it. The widget does so once automatically. From the vault: no stored card of this session waits for a security code under this token.",
  ),
  token_expired: resources(
    "From the widget's `SubmitPayment`: the vault no longer keeps this card. The session stays open: make a new token and submit it. The widget does so once automatically. From the vault: the stored card was chosen too long ago to take its security code.",
  ),
  cursor_not_found: resources(
    "The event of this cursor was erased with its payment, or the database was restored and may lack events that you have read. Continue with `since`: the time of the last event that you have processed, or some minutes before a restore. Some events come again; none is missed.",
  ),
  method_not_allowed: resources(
    "The path exists, but not with this method. The `Allow` header lists the methods that it has.",
  ),
  request_timeout: transport(
    "The headers did not arrive within 10 seconds, or the request within 30. The connection is closed. Repeat the request.",
  ),
  payload_too_large: transport(
    "The body is larger than 64 KiB, a gateway's notification larger than 256 KiB. No valid request comes near this size. Check what the body contains.",
  ),
  unsupported_media_type: transport("Send `Content-Type: application/json`, in UTF-8."),
  unsupported_encoding: transport("The body is compressed. Send it uncompressed, without `Content-Encoding`."),
  headers_too_large: transport(
    "The target and the headers together are larger than 16 KiB, or the request has more than 100 headers. Send fewer or shorter ones.",
  ),
  idempotency_in_progress: state(
    "The first request with this `Idempotency-Key` has been running for five seconds. Wait for the time in `Retry-After` (1 second), then repeat this request with the same key.",
  ),
  already_submitted: state(
    "The session is being paid with another card. Read the session until it has an outcome. Do not create another.",
  ),
  session_expired: state(
    "The session was not paid in time (30 minutes, unless the merchant has set another lifetime), or was cancelled. Create another one for the same order, with another `Idempotency-Key`.",
  ),
  session_ended: state(
    "The session already has an outcome, which `state` names where a cancellation or a replacement is refused. Read the session. To try another card after a decline, create another session.",
  ),
  session_replaced: state(
    "Another session has taken the place of this one, and a session has one successor. `state.replacedBy` is its id: work with that one, or replace it. In the browser: the payment was continued elsewhere.",
  ),
  session_being_paid: state(
    "The session was submitted, so it can neither be cancelled nor replaced, and nothing was created. Wait for its webhook. If it is `held` for a later capture, cancel it first.",
  ),
  token_used: state(
    "From the widget's `SubmitPayment`: the session has not been submitted, and this token was used before. The session stays open: make a new token and submit it. The widget does so once automatically. From the vault: the stored card was sent to a gateway already, so its security code cannot be changed.",
  ),
  wallet_token_invalid: rules(
    "From the vault: what Apple Pay or Google Pay gave fails a check, of which the vault's log names the first. Nothing was charged. Let the customer try again, or pay by card.",
  ),
  wallet_token_used: state(
    "From the vault: this message of the wallet was turned into a token before, as when an answer was lost. Nothing was charged twice. Have the customer open the wallet's sheet again.",
  ),
  wallet_amount_mismatch: rules(
    "From the vault: the customer authorized another amount or currency in Apple Pay than the session has. Nothing was charged. Start the wallet's sheet again with the session's amount.",
  ),
  wallet_not_supported: rules(
    "From the vault: the wallet gave a kind of token that is not supported (`RSA_v1` or `EMV` of Apple Pay), or a card that has expired. The customer pays by card.",
  ),
  wallet_not_enabled: state(
    "From the vault: the session takes no wallet, or the merchant has no active key for this one. The customer pays by card.",
  ),
  wallet_unavailable: state(
    "From the vault: it has no valid root key of Google, or lacks the key of its own that seals the wallet's. The customer pays by card. Repeat it later.",
  ),
  no_action: state(
    "From the widget's calls: the session waits for no such action. The customer has answered, or the payment has gone on. Read the session.",
  ),
  action_expired: rules(
    "From the widget's calls: the action has ended, or was shown on another page since. Read the session: it has an outcome, or shows the action that is open.",
  ),
  state_conflict: state(
    "From the dashboard's calls and the command line: the resource is in a state that does not allow this, or it was changed since you read it. `detail` says which. Read the resource again.",
  ),
  not_held: state(
    "Only a payment with `capture: manual` that a gateway holds can be captured. `detail` says what it is instead. Wait for `payment_session.held`. After a restore of the database, repeat the call a minute later.",
  ),
  capture_already_ordered: state(
    "The first capture fixes the amount, and a payment whose capture was ordered cannot be cancelled. Read the session; refund it once it has SUCCEEDED.",
  ),
  amount_exceeds_held: rules(
    "A capture is of at most `amountMinor` of the session. Send less, or no amount for the whole of it.",
  ),
  not_refundable: state(
    "The payment has not SUCCEEDED, its capture failed afterwards, it has a hundred refunds already, or this installation cannot refund at its gateway. `detail` says which. Read the session.",
  ),
  amount_exceeds_refundable: rules(
    "The refunds of a payment never add up to more than was captured. Read `amountRefundableMinor` of the session, and send at most that, or no amount for all of it.",
  ),
  payment_disputed: state(
    "The amount was captured, but a chargeback holds it: the bank is taking the money back already, and a refund would pay it back a second time. Read `disputes` and `amountRefundableMinor` of the session. Answer the dispute; once it is won, the amount can be refunded again.",
  ),
  response_closed: state(
    "A dispute can be answered while it is `NEEDS_RESPONSE`, and before the gateway's deadline. `state.status` has the status that it has now. If `param` is `respondBy`, the deadline has passed. Shortly after the deadline the answer may still be sent; this is then the gateway's refusal.",
  ),
  evidence_already_submitted: state(
    "This stage of the dispute has another answer already, and an answer is final. Read `responses` of the dispute.",
  ),
  payment_refunded: state(
    "Refunds have paid back what the dispute is about, so accepting it would pay it back twice. Submit the refund as evidence: the facts begin with it.",
  ),
  not_offered: rules(
    "The gateway does not take this acceptance, defense or type of document: `param` names it. Read `response-options` of the dispute. Without `param` the gateway refused the answer itself, which has no effect.",
  ),
  vault_cannot_store: rules(
    "This installation uses a card vault that stores no cards, so a session cannot ask for it, no set-up is possible, and no agreement can be charged. Leave `saveCard` out.",
  ),
  consent_required: state(
    "From the widget's `SubmitPayment`: the session begins an agreement, and the submission does not say that the customer has read its text. The session stays open. The widget sends it with each submission.",
  ),
  security_code_required: state(
    "From the widget's `SubmitPayment`: the stored card is paid with its security code, which was not entered. The session stays open: have the customer enter it in the card form.",
  ),
  agreement_not_active: state(
    "The agreement has no usable card, was cancelled or has ended: `state.status` says which. Nothing was created. With `NEEDS_CARD`, have the customer store another card.",
  ),
  amount_exceeds_agreement: rules(
    "The charge is more than `maxAmountMinor` of the agreement's terms, or in another currency. Nothing was created.",
  ),
  renewal_in_progress: state(
    "Another session pays the same charge (`renewalRef`) at this moment: `state.sessionId` names it. Nothing was created. Wait for its end.",
  ),
  renewal_paid: state(
    "The charge (`renewalRef`) is paid: `state.sessionId` names the session that paid it. Nothing was created. Do not charge it again.",
  ),
  retry_not_allowed: rules(
    "The card's bank or network forbids another try, for a time or for ever. `detail` says why, and `state.notBefore` says when a try may succeed. Nothing was created.",
  ),
  idempotency_key_reused: rules(
    "This `Idempotency-Key` came with another body: within the last 24 hours for a session, at any time for a refund or a charge of an agreement. Use a new key for a new session, refund or charge; a repeat needs exactly the same fields.",
  ),
  endpoint_not_allowed: rules(
    "The webhook address cannot be used, for one of these reasons:\n\n- it is not HTTPS in live;\n- it is not a public address;\n- its port is not 443 or 8443 in live;\n- the merchant has 16 endpoints already.",
  ),
  rate_limited: rules(
    "The request was not executed. Wait for the seconds in `Retry-After`, then repeat it with the same `Idempotency-Key`.\n\n- From the API: the merchant sent more requests than its [limit](rate-limits.md#limits-of-a-merchant) in this environment, 100 a second after the first 200 unless the operator has set another.\n- From the checkout: the session, its address or its network [called too often](rate-limits.md#limits-on-cards-and-calls), or more customers of the merchant call at once than can wait.\n- From the vault: too many cards were entered, from one address or network, for one merchant, or for one session (ten). For a session with ten cards, create another one.",
  ),
  internal: service(
    "A bug in the service. Repeat the request once. If it fails again, report the `requestId`, which leads to the cause in the log.",
  ),
  unavailable: service(
    "The database cannot be reached or is restarting, or the external card vault opens no session for a payment. Wait for the time in `Retry-After` (1 second), then repeat the request, with growing pauses.",
  ),
  deadline_exceeded: service(
    "The answer took longer than the caller allowed, on gRPC and Connect. The request may have been executed: read the resource, or repeat the request with the same `Idempotency-Key`.",
  ),
} satisfies Record<DomainErrorCode, Explanation>;
