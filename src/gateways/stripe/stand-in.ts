/** Stripe's side of the wire, for tests and the demo: its real paths, forms, statuses and idempotency keys, before the pretend bank. */
import type { Account, Accounts } from "../sandbox/accounts.ts";
import type { Route, SandboxRequest } from "../sandbox/routes.ts";
import { type Answered, type Asked, type IntentParts, StandInIntents } from "./stand-in-intents.ts";
import { type Executed, StripeKeys } from "./stand-in-keys.ts";
import { refusal } from "./stand-in-objects.ts";

/** What the stand-in shares with the pretend acquirers. */
export type StripeStandInParts = IntentParts & { readonly accounts: Accounts };

const intents = "/v1/payment_intents";
const oneIntent = `${intents}/(?<id>pi_[^/]+)`;

/** Every path of Stripe's that our connector uses. */
export function stripeRoutes(parts: StripeStandInParts): readonly Route[] {
  const standIn = new StandInIntents(parts);
  const keys = new StripeKeys();
  const route = (
    method: "GET" | "POST",
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
      const execute = async () => toExecuted(await handle(asked));
      if (method === "GET") return (await execute()).answer;
      const key = request.headers["idempotency-key"];
      return keys.once(
        { account: account.id, key: key === undefined ? key : String(key), path: request.path, body: request.body },
        execute,
      );
    },
  });
  return [
    route("POST", "/v1/payment_methods", "payment_method", (asked) => standIn.createMethod(asked)),
    route("POST", intents, "create", (asked) => standIn.create(asked)),
    route("GET", `${intents}/search`, "search", (asked) => standIn.search(asked)),
    route("GET", oneIntent, "read", (asked) => standIn.read(asked)),
    route("POST", `${oneIntent}/confirm`, "confirm", (asked) => standIn.confirm(asked)),
    losingCaptures(
      standIn,
      parts,
      route("POST", `${oneIntent}/capture`, "capture", (asked) => standIn.capture(asked)),
    ),
    route("POST", `${oneIntent}/cancel`, "cancel", (asked) => standIn.cancel(asked)),
    route("GET", "/v1/account", "account", ({ account }) => accountView(account)),
  ];
}

/** The way to Stripe, on which a capture or its answer may get lost where the card says so; before the memory of keys. */
function losingCaptures(standIn: StandInIntents, { issuer }: StripeStandInParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = standIn.find(request.parameters.id)?.authorization;
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

function toExecuted(result: Answered | Executed): Executed {
  return "kept" in result ? result : { answer: result, kept: result };
}

function openedBy(accounts: Accounts, { headers }: SandboxRequest): Account | undefined {
  const id = /^Bearer (?:sk|rk)_((?:test|live)_[A-Za-z0-9]{10,250})$/.exec(String(headers.authorization))?.[1];
  return id === undefined ? undefined : accounts.find(id);
}

function accountView({ id }: Account): Answered {
  const body = {
    id: `acct_${id}`,
    object: "account",
    charges_enabled: true,
    default_currency: "eur",
    type: "standard",
  };
  return { status: 200, body };
}
