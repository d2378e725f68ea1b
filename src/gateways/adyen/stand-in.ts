/** Adyen's side of the wire, for tests and the demo: its real paths, JSON, statuses, idempotency keys and notifications, before the pretend bank. */
import { parseJsonObject } from "../gateway-http.ts";
import type { Account, Accounts } from "../sandbox/accounts.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "../sandbox/routes.ts";
import { apiVersion } from "./api.ts";
import { AdyenKeys, type Answered, type Executed, refusal } from "./stand-in-keys.ts";
import { type Asked, type PaymentParts, StandInPayments } from "./stand-in-payments.ts";

/** What the stand-in shares with the pretend acquirers. */
export type AdyenStandInParts = PaymentParts & { readonly accounts: Accounts };

const onePayment = "/payments/(?<id>[A-Z0-9]+)";

/** Every path of Adyen's that our connector uses. */
export function adyenRoutes(parts: AdyenStandInParts): readonly Route[] {
  const standIn = new StandInPayments(parts);
  const keys = new AdyenKeys();
  const route = (
    path: string,
    operation: string,
    handle: (asked: Asked) => Promise<Answered | Executed> | Answered,
  ): Route => ({
    method: "POST",
    path: new RegExp(`^/${apiVersion}${path}$`),
    operation: `adyen.${operation}`,
    async handle(request) {
      const entered = enter(parts.accounts, request);
      if ("status" in entered) return entered;
      const { account } = entered;
      const key = request.headers["idempotency-key"];
      const name = key === undefined ? undefined : `${account.id} ${request.path} ${String(key)}`;
      return keys.once(name, async () => toExecuted(await handle({ request, ...entered })));
    },
  });
  return [
    route("/paymentMethods", "methods", () => methods),
    route("/payments", "authorize", (asked) => standIn.authorize(asked)),
    losingCaptures(
      standIn,
      parts,
      route(`${onePayment}/captures`, "capture", (asked) => standIn.capture(asked)),
    ),
    route(`${onePayment}/cancels`, "void", (asked) => standIn.cancel(asked)),
    route("/cancels", "void", (asked) => standIn.cancelByReference(asked)),
  ];
}

/** Any well-formed key opens any merchant account, so that nothing has to be set up first. */
function enter(
  accounts: Accounts,
  { headers, body }: SandboxRequest,
): { account: Account; json: Asked["json"] } | Answered {
  if (!/^AQE[\x21-\x7e]{17,}$/.test(String(headers["x-api-key"]))) return refusal(401, "000", "security");
  const json = parseJsonObject(Buffer.from(body));
  if (json === undefined) return refusal(400, "702");
  const { merchantAccount } = json;
  if (typeof merchantAccount !== "string" || !/^[\w.-]+$/.test(merchantAccount)) return refusal(403, "901", "security");
  return { account: accounts.find(merchantAccount), json };
}

/** The way to Adyen, on which a capture or its answer may get lost where the card says so; before the memory of keys. */
function losingCaptures(standIn: StandInPayments, { issuer }: AdyenStandInParts, route: Route): Route {
  return {
    ...route,
    async handle(request): Promise<SandboxAnswer> {
      const payment = standIn.find(request.parameters.id);
      return (await issuer.carryCapture(payment, () => route.handle(request))) ?? "hang_up";
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
