/**
 * SANDBOX_A's wire protocol: Stripe-like forms, an immediate answer to every request, and a record that can be read.
 */
import { unreachable } from "../platform/errors.ts";
import { isoCurrencies } from "../platform/money.ts";
import { answering, listDisputes, readDispute } from "./a-disputes.ts";
import {
  authorizationAnswer,
  declineView,
  notFound,
  publicView,
  refusal,
  type SandboxAParts,
  stateRefusal,
} from "./a-objects.ts";
import { listRefunds, readRefund, refund } from "./a-refunds.ts";
import type { Account } from "./accounts.ts";
import { bankPageOf } from "./bank-pages.ts";
import type { Asking, CardPayment, Challenge } from "./challenges.ts";
import type { CardResult } from "./issuer.ts";
import { type Authorization, isPart } from "./ledger.ts";
import { losingCaptures, losingRefunds, losingResponses } from "./losing-answers.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";
import { frictionlessOf, type SecureResult, secureResult } from "./secure-results.ts";
import type { StatementLine } from "./statements.ts";
import { listPayouts, listTransactions } from "./stripe-statements.ts";

type Handle = (request: SandboxRequest, account: Account) => Promise<SandboxAnswer>;

const held = "/a/v1/authorizations";
const oneDispute = "/a/v1/disputes/(?<id>[^/]+)";

export function sandboxARoutes(parts: SandboxAParts): readonly Route[] {
  const route = (method: "GET" | "POST" | "DELETE", path: string, operation: string, handle: Handle): Route => ({
    method,
    path: new RegExp(`^${path}$`),
    operation,
    handle: (request) => signedIn(parts, request, handle),
  });
  const captureRoute = route("POST", `${held}/(?<id>[^/]+)/capture`, "a.capture", (request, account) =>
    capture(parts, request, account),
  );
  const losing = (answer: Route) =>
    losingResponses(
      parts.ledger,
      ({ parameters }) => parts.ledger.record(parameters.id!.replace("dispute_", "")),
      answer,
    );
  return [
    route("POST", held, "a.authorize", (request, account) => authorize(parts, request, account)),
    route("POST", `${held}/void`, "a.void", (request, account) => voidByReference(parts, request, account)),
    losingCaptures(parts, captureRoute),
    losingCompletions(
      parts,
      route("POST", `${held}/(?<id>[^/]+)/confirm`, "a.complete", (request, account) =>
        confirm(parts, request, account),
      ),
    ),
    route("POST", `${held}/(?<id>[^/]+)/void`, "a.void", (request, account) => voidById(parts, request, account)),
    losingRefunds(
      parts,
      route("POST", `${held}/(?<id>[^/]+)/refunds`, "a.refund", (request, account) => refund(parts, request, account)),
    ),
    route("GET", `${held}/(?<id>[^/]+)/refunds`, "a.list-refunds", (request, account) =>
      listRefunds(parts, request, account),
    ),
    route("GET", "/a/v1/disputes", "a.list-disputes", (request, account) => listDisputes(parts, request, account)),
    route("GET", oneDispute, "a.read-dispute", (request, account) => readDispute(parts, request, account)),
    losing(route("POST", oneDispute, "a.submit-evidence", answering(parts, "evidence"))),
    losing(route("POST", `${oneDispute}/close`, "a.accept-dispute", answering(parts, "accept"))),
    route("GET", "/a/v1/balance_transactions", "a.list-transactions", async ({ query }, account) =>
      listTransactions(query, {
        lines: parts.statements.lines("A", account.id),
        payouts: parts.statements.payouts("A", account.id),
        sourceOf,
      }),
    ),
    route("GET", "/a/v1/payouts", "a.list-payouts", async ({ query }, account) =>
      listPayouts(query, parts.statements.payouts("A", account.id)),
    ),
    route("GET", "/a/v1/refunds/(?<id>[^/]+)", "a.read-refund", (request, account) =>
      readRefund(parts, request, account),
    ),
    route("GET", `${held}/(?<id>[^/]+)`, "a.read", async (request, account) => {
      const id = request.parameters.id ?? "";
      const found = parts.ledger.find("A", account.id, id);
      if (found !== undefined) return authorizationAnswer(200, found);
      const challenge = challengeOf(parts, account, id);
      return challenge === undefined ? notFound : challengeAnswer(challenge);
    }),
    route("GET", held, "a.read", async (request, account) => {
      const reference = request.query.get("reference") ?? "";
      const data = parts.ledger.findByReference({ acquirer: "A", account: account.id, reference }).map(publicView);
      return { status: 200, body: { object: "list", reference, data }, about: reference };
    }),
    ...erasing(parts, route),
    route("GET", "/a/v1/account", "a.account", async (_, account) => ({
      status: 200,
      body: {
        object: "account",
        id: account.id,
        environment: account.environment,
        raw_cards: account.rawCards,
        manual_capture: account.manualCapture,
        currencies: isoCurrencies,
      },
    })),
  ];
}

/** Shows the subject of a line with Stripe's names: an authorization is an intent and its charge in one. */
function sourceOf({
  type,
  payment,
  refund,
  dispute,
  gross,
  currency,
}: StatementLine): Readonly<Record<string, unknown>> {
  const named = { payment_intent: payment.id, currency: currency.toLowerCase(), amount: Math.abs(gross) };
  if (refund)
    return {
      ...named,
      object: "refund",
      id: refund.id,
      metadata: { ...(refund.reference && { refund_id: refund.reference }) },
    };
  if (type === "capture")
    return {
      ...named,
      object: "charge",
      id: payment.id,
      amount_captured: gross,
      metadata: { attempt_id: payment.reference },
    };
  return { ...named, object: "dispute", id: dispute! };
}

type RouteOf = (method: "POST" | "DELETE", path: string, operation: string, handle: Handle) => Route;

/** Erases stored cards as at Stripe, but a repeat gets the same answer. */
function erasing({ savedCards }: SandboxAParts, route: RouteOf): readonly Route[] {
  const erased = (id: string, isKnown: boolean): SandboxAnswer =>
    isKnown ? { status: 200, body: { id, erased: true } } : notFound;
  return [
    route("POST", "/a/v1/payment_methods/(?<id>[^/]+)/detach", "a.erase", async ({ body, parameters }, account) => {
      const [customer, method] = [new URLSearchParams(body).get("customer") ?? "", parameters.id ?? ""];
      return erased(method, savedCards.erase({ acquirer: "A", account: account.id, customer, method }));
    }),
    route("DELETE", "/a/v1/customers/(?<id>[^/]+)", "a.erase", async ({ parameters }, account) => {
      const customer = parameters.id ?? "";
      return erased(customer, savedCards.erase({ acquirer: "A", account: account.id, customer }));
    }),
  ];
}

async function signedIn(parts: SandboxAParts, request: SandboxRequest, handle: Handle): Promise<SandboxAnswer> {
  const account = parts.accounts.openedBy(/^Bearer (.+)$/.exec(String(request.headers.authorization))?.[1]);
  if (account === undefined) return refusal(401, "authentication_error", "invalid_key");
  const key = request.headers["idempotency-key"];
  const answer = await parts.idempotency.once(
    { scope: `${account.id} ${request.path}`, key: key === undefined ? key : String(key), content: request.body },
    () => handle(request, account),
  );
  return answer === "reused" ? refusal(409, "idempotency_error", "key_reused") : answer;
}

async function authorize(parts: SandboxAParts, request: SandboxRequest, account: Account): Promise<SandboxAnswer> {
  const form = new URLSearchParams(request.body);
  const field = (name: string) => form.get(name) ?? "";
  const isRenewal = form.has("payment_method");
  if (!isRenewal && !account.rawCards) return refusal(403, "invalid_request_error", "raw_cards_not_allowed");
  if (field("capture_method") !== "manual") return refusal(400, "invalid_request_error", "capture_method");
  const value = Number(field("amount"));
  // The amount is 0 if a card is only stored.
  const valueMin = form.has("save") ? 0 : 1;
  if (!Number.isSafeInteger(value) || value < valueMin) return refusal(400, "invalid_request_error", "amount");
  const [customer, method] = [field("customer"), field("payment_method")];
  const stored = isRenewal
    ? parts.savedCards.findMethod({ acquirer: "A", account: account.id, customer, method })
    : undefined;
  if (isRenewal && stored === undefined) return refusal(400, "invalid_request_error", "no_such_payment_method");
  const payment: CardPayment = {
    acquirer: "A",
    account: account.id,
    reference: field("reference"),
    orderRef: field("metadata[order_ref]"),
    number: stored?.number ?? (field("network_token[number]") || field("card[number]")),
    cryptogram: form.get("network_token[cryptogram]") ?? undefined,
    value,
    currency: field("currency"),
    isExemptionAsked: form.has("exemption"),
    proof: form.has("three_d_secure[cryptogram]")
      ? {
          dsTransactionId: field("three_d_secure[transaction_id]"),
          cryptogram: field("three_d_secure[cryptogram]"),
        }
      : undefined,
    saves: form.has("save") ? { customer } : undefined,
    renews: stored,
  };
  const result = await parts.issuer.authorizeOrAsk(payment, askingOf(form), () => {});
  return result.type === "asked" ? challengeAnswer(result.challenge, request) : authorizeAnswer(result);
}

function askingOf(form: URLSearchParams): Asking | undefined {
  const wish = form.get("authentication");
  const returnUrl = form.get("return_url") ?? "";
  return (wish === "as_needed" || wish === "always") && URL.canParse(returnUrl) ? { wish, returnUrl } : undefined;
}

function challengeOf({ challenges }: SandboxAParts, account: Account, id: string): Challenge | undefined {
  const found = challenges.find(id);
  return found?.payment.acquirer === "A" && found.payment.account === account.id ? found : undefined;
}

const challengeStatus = {
  waiting: "requires_action",
  passed: "requires_confirmation",
  failed: "authentication_failed",
  cancelled: "authentication_failed",
} as const;

function challengeAnswer(challenge: Challenge, request?: SandboxRequest): SandboxAnswer {
  const { id, payment, state } = challenge;
  const { reference, value, currency } = payment;
  const named = { object: "authorization", id, reference, amount: value, amount_captured: 0, currency };
  const action = request && { next_action: { redirect_to_url: { url: bankPageOf(request, challenge) } } };
  return { status: 200, body: { ...named, status: challengeStatus[state], ...action }, about: reference };
}

/** Holds the money of a customer who has passed authentication, and otherwise nothing. */
async function confirm(parts: SandboxAParts, request: SandboxRequest, account: Account): Promise<SandboxAnswer> {
  const challenge = challengeOf(parts, account, request.parameters.id ?? "");
  if (challenge === undefined) return notFound;
  switch (challenge.state) {
    case "waiting":
      return challengeAnswer(challenge, request);
    case "failed":
    case "cancelled": {
      const { id, payment } = challenge;
      const { reference, value, currency } = payment;
      const authorization = { object: "authorization", id, reference, amount: value, currency, status: "declined" };
      const error = { type: "card_error", decline_code: "authentication_failed", authorization };
      return { status: 402, body: { error }, about: reference };
    }
    case "passed": {
      const result = await parts.issuer.settle(challenge, () => {});
      return authorizeAnswer(result, secureResult("Y", challenge.id));
    }
    default:
      return unreachable(challenge.state);
  }
}

function secureView(result: SecureResult | undefined) {
  if (result === undefined) return {};
  const { version, transStatus: trans_status, eci, dsTransactionId } = result;
  const view = { version, trans_status, electronic_commerce_indicator: eci, transaction_id: dsTransactionId };
  return { three_d_secure: view };
}

/** Loses the answer to the first completing request if the card says so, outside of the memory of keys. */
function losingCompletions({ challenges, issuer }: SandboxAParts, route: Route): Route {
  return {
    ...route,
    handle: async (request) =>
      (await issuer.carryCompletion(challenges.find(request.parameters.id ?? ""), () => route.handle(request))) ??
      "hang_up",
  };
}

function authorizeAnswer(result: CardResult, challenged?: SecureResult): SandboxAnswer {
  switch (result.type) {
    case "held": {
      const { authorization } = result;
      const body = { ...publicView(authorization), ...secureView(challenged ?? frictionlessOf(authorization)) };
      return { status: 200, body, about: authorization.reference };
    }
    case "declined": {
      const { authorization, code } = result;
      const secure = secureView(challenged ?? frictionlessOf(authorization));
      const error = {
        type: "card_error",
        ...declineView(authorization),
        decline_code: code,
        authorization: publicView(authorization),
        ...secure,
      };
      return { status: 402, body: { error }, about: authorization.reference };
    }
    case "failed":
      return result.status < 500
        ? refusal(result.status, "invalid_request_error", "not_accepted")
        : refusal(result.status, "api_error", "api_error");
    case "refused":
      return refusal(409, "invalid_request_error", "reference_voided");
    case "silent":
      return "hang_up";
    default:
      return unreachable(result);
  }
}

async function capture(parts: SandboxAParts, request: SandboxRequest, account: Account): Promise<SandboxAnswer> {
  const found = parts.ledger.find("A", account.id, request.parameters.id ?? "");
  if (found === undefined) return notFound;
  if (found.status === "held") {
    if (found.capture === "refuse" || found.capture === "fail_later") return stateRefusal("capture_not_allowed", found);
    const form = new URLSearchParams(request.body);
    const value = Number(form.get("amount_to_capture") ?? found.value);
    if (!isPart(value, found.value)) return stateRefusal("amount", found);
    await parts.issuer.captureDelay(found);
    if (parts.ledger.capture(found, value)) return authorizationAnswer(200, found);
  }
  return stateRefusal(`already_${found.status}`, found);
}

async function voidById(parts: SandboxAParts, request: SandboxRequest, account: Account): Promise<SandboxAnswer> {
  const id = request.parameters.id ?? "";
  const found = parts.ledger.find("A", account.id, id);
  if (found !== undefined) return voidOne(parts, found);
  const challenge = challengeOf(parts, account, id);
  if (challenge === undefined) return notFound;
  const { reference } = challenge.payment;
  parts.ledger.refuse(challenge.payment);
  parts.challenges.answer(challenge, "cancelled");
  return { status: 200, body: { object: "void", id, reference, status: "voided" }, about: reference };
}

/** Voids every hold under the reference; if there is none, the reference is refused from now on. */
async function voidByReference(
  parts: SandboxAParts,
  request: SandboxRequest,
  account: Account,
): Promise<SandboxAnswer> {
  const reference = new URLSearchParams(request.body).get("reference") ?? "";
  const asked = { acquirer: "A", account: account.id, reference } as const;
  parts.ledger.refuse(asked);
  const found = parts.ledger.findByReference(asked);
  const captured = found.find((one) => one.status === "captured");
  if (captured !== undefined) return stateRefusal("already_captured", captured);
  for (const one of found) parts.ledger.void(one);
  return { status: 200, body: { object: "void", reference, status: "voided" }, about: reference };
}

function voidOne(parts: SandboxAParts, found: Authorization): SandboxAnswer {
  if (found.status === "captured" || found.status === "declined") return stateRefusal(`already_${found.status}`, found);
  parts.ledger.void(found);
  return authorizationAnswer(200, found);
}
