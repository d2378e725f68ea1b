/**
 * Emulator of Adyen for tests and the demo: its real paths, JSON, statuses, idempotency keys and notifications, in
 * front of the test bank.
 */

import { apiVersion, disputesPath, reportsPath } from "../../gateways/adyen/api.ts";
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import { parseJsonObject } from "../../platform/outbound-http.ts";
import type { Account, Accounts } from "../accounts.ts";
import { disputeServiceRoutes } from "../adyen-disputes.ts";
import { batchOf, csv, reportContent, reportOf } from "../adyen-report.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "../routes.ts";
import type { Statements } from "../statements.ts";
import { AdyenKeys, type Answered, type Executed, refusal } from "./emulator-keys.ts";
import { type Asked, EmulatorPayments, type PaymentParts } from "./emulator-payments.ts";
import { isStandalone, StandaloneAuthentications, type StandaloneParts } from "./emulator-standalone.ts";

export type AdyenEmulatorParts = PaymentParts &
  StandaloneParts & { readonly accounts: Accounts; readonly clock: SandboxClock; readonly statements: Statements };

const onePayment = "/payments/(?<id>[A-Z0-9]+)";

export function adyenRoutes(parts: AdyenEmulatorParts): readonly Route[] {
  const emulator = new EmulatorPayments(parts);
  const standalone = new StandaloneAuthentications(parts);
  const keys = new AdyenKeys(parts.clock, parts.books);
  const route = (
    path: string,
    operation: string,
    handle: (asked: Asked) => Promise<Answered | Executed> | Answered,
  ): Route => ({
    method: "POST",
    path: new RegExp(`^(/checkout)?/${apiVersion}${path}$`),
    operation: `adyen.${operation}`,
    async handle(request) {
      const entered = enter(parts.accounts, request);
      if ("status" in entered) return entered;
      const { account } = entered;
      const key = request.headers["idempotency-key"];
      const name = key === undefined ? undefined : `${account.id} ${request.path} ${String(key)}`;
      const execute = async () => toExecuted(await handle({ request, ...entered }));
      // An error that is not marked as transient is stored as well: see emulator-keys.ts.
      const failed = toExecuted(refusal(500, "901", "internal"));
      return keys.once(name, () => parts.faults.insideKey(`adyen.${operation}`, { execute, failed }));
    },
  });
  const keptErrors: Route = {
    method: "GET",
    path: /^\/admin\/kept-errors$/,
    operation: "admin.kept-errors",
    handle: async () => ({ status: 200, body: { keys: keys.keptErrors().map((name) => name.split(" ").at(-1)) } }),
  };
  parts.statements.onBatch((acquirer, account, batch) => {
    if (acquirer !== "ADYEN") return;
    const origin = `ca-test.adyen.com${reportsPath}`;
    void parts.notifications.send(account, reportContent(account, { batch, origin, from: "adyen" }));
  });
  return [
    keptErrors,
    {
      method: "GET",
      path: new RegExp(`^${reportsPath}/(?<account>[\\w.-]+)/(?<name>[^/]+)$`),
      operation: "adyen.download_report",
      async handle({ headers, parameters }) {
        // A report user's password, or a report service user's key: any will do.
        const isKnown = /^Basic \S+$/.test(String(headers.authorization)) || headers["x-api-key"] !== undefined;
        if (!isKnown) return refusal(401, "000", "security");
        const account = parts.accounts.find(parameters.account!);
        const payouts = parts.statements
          .payouts("ADYEN", account.id)
          .filter(({ batch }) => batch === batchOf(parameters.name!));
        if (payouts.length === 0) return refusal(404, "000");
        return csv(
          reportOf(account.id, payouts, ({ type, payment, refund, dispute }) => ({
            payment: emulator.referenceOf(payment.id),
            modification: refund
              ? emulator.referenceOf(refund.id)
              : type === "capture"
                ? payment.captureId!
                : dispute!.replace(/_again$/, ""),
          })),
        );
      },
    },
    route("/paymentMethods", "methods", () => methods),
    route("/cardDetails", "card-details", (asked) => standalone.cardDetails(asked)),
    route("/payments", "authorize", (asked) =>
      isStandalone(asked.json) ? standalone.authenticate(asked) : emulator.authorize(asked),
    ),
    detailsRoute({ emulator, standalone, keys }, parts),
    losingCaptures(
      emulator,
      parts,
      route(`${onePayment}/captures`, "capture", (asked) => emulator.capture(asked)),
    ),
    losingRefunds(
      emulator,
      parts,
      route(`${onePayment}/refunds`, "refund", (asked) => emulator.refund(asked)),
    ),
    route(`${onePayment}/cancels`, "void", (asked) => emulator.cancel(asked)),
    route("/cancels", "void", (asked) => emulator.cancelByReference(asked)),
    ...disputeServiceRoutes({ ledger: parts.ledger, acquirer: "ADYEN", path: disputesPath }, (operation, handle) => ({
      operation: `adyen.${operation}`,
      async handle(request) {
        if (!isKeyFormed(request)) return refusal(401, "000", "security");
        const json = parseJsonObject(Buffer.from(request.body));
        return json === undefined ? refusal(400, "702") : handle(json, String(json.merchantAccountCode));
      },
    })),
  ];
}

/**
 * Returns the route that completes a payment. Its request names no merchant account: the customer's return does. The
 * first answer is lost if the card says so, outside of the memory of keys.
 */
function detailsRoute(
  {
    emulator,
    standalone,
    keys,
  }: {
    readonly emulator: EmulatorPayments;
    readonly standalone: StandaloneAuthentications;
    readonly keys: AdyenKeys;
  },
  { faults, issuer }: AdyenEmulatorParts,
): Route {
  return {
    method: "POST",
    path: new RegExp(`^(/checkout)?/${apiVersion}/payments/details$`),
    operation: "adyen.complete",
    async handle(request) {
      if (!isKeyFormed(request)) return refusal(401, "000", "security");
      const json = parseJsonObject(Buffer.from(request.body)) ?? {};
      const alone = standalone.find(json);
      const found = alone ?? emulator.findChallenge(json);
      // "Invalid payload provided": https://docs.adyen.com/development-resources/error-codes (2026).
      if (found === undefined) return refusal(422, "14_018");
      const { challenge, account } = found;
      const key = request.headers["idempotency-key"];
      const name = key === undefined ? undefined : `${account.id} ${request.path} ${String(key)}`;
      const execute = async () =>
        toExecuted(await (alone ? standalone.details(alone, json) : emulator.details(challenge)));
      const failed = toExecuted(refusal(500, "901", "internal"));
      const answer = () => keys.once(name, () => faults.insideKey("adyen.complete", { execute, failed }));
      return (await issuer.carryCompletion(challenge, answer)) ?? "hang_up";
    },
  };
}

function isKeyFormed({ headers }: SandboxRequest): boolean {
  return /^AQE[\x21-\x7e]{17,}$/.test(String(headers["x-api-key"]));
}

/** Authenticates a request: any well-formed key opens any merchant account, so that nothing has to be set up first. */
function enter(accounts: Accounts, request: SandboxRequest): { account: Account; json: Asked["json"] } | Answered {
  if (!isKeyFormed(request)) return refusal(401, "000", "security");
  const json = parseJsonObject(Buffer.from(request.body));
  if (json === undefined) return refusal(400, "702");
  const { merchantAccount } = json;
  if (typeof merchantAccount !== "string" || !/^[\w.-]+$/.test(merchantAccount)) return refusal(403, "901", "security");
  const account = accounts.find(merchantAccount);
  // Each environment has its own keys, and live a longer path: see pathIn().
  const isLivePath = request.path.startsWith("/checkout/");
  if (isLivePath !== (account.environment === "live")) return refusal(401, "000", "security");
  return { account, json };
}

/**
 * Wraps a route so that a capture or its answer is lost on the way to Adyen if the card says so; outside the memory of
 * keys.
 */
function losingCaptures(emulator: EmulatorPayments, { issuer }: AdyenEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request): Promise<SandboxAnswer> {
      const payment = emulator.find(request.parameters.id);
      return (await issuer.carryCapture(payment, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/** Wraps a route so that the first answer to a refund is lost if the card says so; outside the memory of keys. */
function losingRefunds(emulator: EmulatorPayments, { issuer }: AdyenEmulatorParts, route: Route): Route {
  return {
    ...route,
    async handle(request): Promise<SandboxAnswer> {
      const payment = emulator.find(request.parameters.id);
      return (await issuer.carryRefund(payment, () => route.handle(request))) ?? "hang_up";
    },
  };
}

function toExecuted(result: Answered | Executed): Executed {
  return "kept" in result ? result : { answer: result, kept: result };
}

const methods: Answered = {
  status: 200,
  body: { paymentMethods: [{ type: "scheme", name: "Cards", brands: ["visa", "mc", "amex"] }] },
};
