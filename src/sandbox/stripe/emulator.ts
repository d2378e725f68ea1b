/**
 * Emulator of Stripe for tests and the demo: its real paths, forms, statuses and idempotency keys, in front of the test
 * bank.
 */

import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import type { Account, Accounts } from "../accounts.ts";
import type { Faults } from "../faults.ts";
import { losingResponses } from "../losing-answers.ts";
import type { Route, SandboxRequest } from "../routes.ts";
import type { Statements } from "../statements.ts";
import { listPayouts, listTransactions } from "../stripe-statements.ts";
import { EmulatorDisputes } from "./emulator-disputes.ts";
import { EmulatorIntents } from "./emulator-intents.ts";
import { type Executed, StripeKeys } from "./emulator-keys.ts";
import { type Answered, type Asked, refusal } from "./emulator-objects.ts";
import type { IntentParts } from "./emulator-parts.ts";
import { EmulatorRefunds, losingRefunds } from "./emulator-refunds.ts";

export type StripeEmulatorParts = IntentParts & {
  readonly accounts: Accounts;
  readonly faults: Faults;
  readonly clock: SandboxClock;
  readonly statements: Statements;
};

const intents = "/v1/payment_intents";
const oneMethod = "/v1/payment_methods/(?<id>pm_[^/]+)";
const setUps = "/v1/setup_intents";
const oneSetUp = `${setUps}/(?<id>seti_[^/]+)`;
const oneIntent = `${intents}/(?<id>pi_[^/]+)`;
const oneDispute = "/v1/disputes/(?<id>dp_[^/]+)";

export function stripeRoutes(parts: StripeEmulatorParts): readonly Route[] {
  const emulator = new EmulatorIntents(parts);
  const refunds = new EmulatorRefunds(parts, emulator);
  const disputes = new EmulatorDisputes(parts, emulator);
  const keys = new StripeKeys(parts.clock, parts.books);
  const route = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    operation: string,
    handle: (asked: Asked) => Answered | Promise<Answered | Executed>,
  ): Route => ({
    method,
    path: new RegExp(`^${path}$`),
    operation: `stripe.${operation}`,
    async handle(request) {
      const account = openedBy(parts.accounts, request);
      if (account === undefined) return refusal(401, undefined);
      const asked = { request, account, form: new URLSearchParams(request.body) };
      const execute = async () => {
        const executed = toExecuted(await handle(asked));
        // Checked last, which is the worst case: Stripe documents no order.
        return showsCharges(asked) && !mayReadCharges(asked)
          ? { ...executed, answer: refusal(403, undefined) }
          : executed;
      };
      if (method === "GET") return (await execute()).answer;
      const key = request.headers["idempotency-key"];
      return keys.once(
        { account: account.id, key: key === undefined ? key : String(key), path: request.path, body: request.body },
        // "The resulting status code and body of the first request", including its errors: see emulator-keys.ts.
        () => parts.faults.insideKey(`stripe.${operation}`, { execute, failed: toExecuted(refusal(500, undefined)) }),
      );
    },
  });
  const losing = (answer: Route) =>
    losingResponses(parts.ledger, ({ parameters }) => disputes.paymentOf(parameters.id), answer);
  return [
    route("POST", "/v1/payment_methods", "payment_method", (asked) => emulator.createMethod(asked)),
    route("POST", intents, "create", (asked) => emulator.create(asked)),
    route("GET", `${intents}/search`, "search", (asked) => emulator.search(asked)),
    route("GET", oneIntent, "read", (asked) => emulator.read(asked)),
    losingCompletions(
      emulator,
      parts,
      route("POST", `${oneIntent}/confirm`, "confirm", (asked) => emulator.confirm(asked)),
    ),
    losingCaptures(
      emulator,
      parts,
      route("POST", `${oneIntent}/capture`, "capture", (asked) => emulator.capture(asked)),
    ),
    route("POST", `${oneIntent}/cancel`, "cancel", (asked) => emulator.cancel(asked)),
    losingRefunds(
      emulator,
      parts,
      route("POST", "/v1/refunds", "refund", (asked) => refunds.create(asked)),
    ),
    route("GET", "/v1/refunds", "list_refunds", (asked) => refunds.list(asked)),
    route("GET", "/v1/balance_transactions", "list_transactions", ({ account, request }) =>
      listTransactions(request.query, {
        lines: parts.statements.lines("STRIPE", account.id),
        payouts: parts.statements.payouts("STRIPE", account.id),
        sourceOf: (line) => disputes.sourceOf(line),
      }),
    ),
    route("GET", "/v1/payouts", "list_payouts", ({ account, request }) =>
      listPayouts(request.query, parts.statements.payouts("STRIPE", account.id)),
    ),
    route("GET", "/v1/disputes", "list_disputes", (asked) => disputes.list(asked)),
    route("GET", oneDispute, "read_dispute", (asked) => disputes.read(asked)),
    losing(route("POST", oneDispute, "submit_evidence", (asked) => disputes.answer(asked, "evidence"))),
    losing(route("POST", `${oneDispute}/close`, "accept_dispute", (asked) => disputes.answer(asked, "accept"))),
    route("POST", "/v1/files", "file", (asked) => disputes.addFile(asked)),
    route("GET", "/v1/radar/early_fraud_warnings", "list_warnings", (asked) => disputes.listWarnings(asked)),
    route("GET", "/v1/refunds/(?<id>[^/]+)", "read_refund", (asked) => refunds.read(asked)),
    route("POST", setUps, "create_set_up", (asked) => emulator.setUps.create(asked)),
    route("GET", oneSetUp, "read_set_up", (asked) => emulator.setUps.read(asked)),
    route("POST", `${oneSetUp}/cancel`, "cancel_set_up", (asked) => emulator.setUps.cancel(asked)),
    route("POST", `${oneSetUp}/confirm`, "confirm_set_up", (asked) => emulator.setUps.confirm(asked)),
    route("POST", "/v1/customers", "create_customer", (asked) => emulator.customers.create(asked)),
    route("DELETE", "/v1/customers/(?<id>[^/]+)", "delete_customer", (asked) => emulator.customers.delete(asked)),
    route("POST", `${oneMethod}/detach`, "detach", (asked) => emulator.customers.detach(asked)),
    route("GET", oneMethod, "read_method", (asked) => emulator.customers.readMethod(asked)),
    // A restricted key may not read the account unless it was given the right to.
    route("GET", "/v1/account", "account", ({ request, account }) =>
      isRestricted(request) ? refusal(403, undefined) : { status: 200, body: accountView(account) },
    ),
    route("GET", "/v1/charges/[^/]+", "charge", () => refusal(404, "resource_missing", { param: "id" })),
  ];
}

/**
 * Wraps a route so that a capture or its answer is lost on the way to Stripe if the card says so; outside the memory of
 * keys.
 */
function losingCaptures(emulator: EmulatorIntents, { issuer }: StripeEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = emulator.find(request.parameters.id)?.authorization;
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/** Wraps a route so that the first answer after a challenge is lost if the card says so; outside the memory of keys. */
function losingCompletions(emulator: EmulatorIntents, { issuer }: StripeEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const challenge = emulator.find(request.parameters.id)?.asked?.challenge;
      return (await issuer.carryCompletion(challenge, () => route.handle(request))) ?? "hang_up";
    },
  };
}

function toExecuted(result: Answered | Executed): Executed {
  return "kept" in result ? result : { answer: result, kept: result };
}

function openedBy(accounts: Accounts, { headers }: SandboxRequest): Account | undefined {
  const id = /^Bearer (?:sk|rk)_((?:test|live)_[A-Za-z0-9]{10,250})$/.exec(String(headers.authorization))?.[1];
  // A further key of an account ends in its number, such as `sk_test_theshopKey2`.
  return id === undefined ? undefined : accounts.find(id.replace(/Key\d+$/, ""));
}

/** Returns the required fields of an account: https://docs.stripe.com/api/accounts/object (2026). */
function accountView({ id }: Account): { readonly [field: string]: unknown } {
  return { id: `acct_${id.replace("_", "")}`, object: "account" };
}

function isRestricted({ headers }: SandboxRequest): boolean {
  return String(headers.authorization).startsWith("Bearer rk_");
}

/**
 * Reports whether a key may read charges. A restricted key has only the rights that it was given:
 * https://docs.stripe.com/keys/restricted-api-keys (2026).
 */
function mayReadCharges({ request, account }: Asked): boolean {
  return account.readsCharges || !isRestricted(request);
}

function showsCharges({ request, form }: Asked): boolean {
  const expanded = [...request.query, ...form].some(
    ([name, value]) => /^expand/.test(name) && /latest_charge$/.test(value),
  );
  // Stripe gives the rights to both as one: "Charges and Refunds" of https://docs.stripe.com/keys/restricted-api-keys (2026).
  return expanded || /^\/v1\/(charges|refunds)/.test(request.path);
}
