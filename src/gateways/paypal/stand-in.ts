/** PayPal's side of the wire, for tests and the demo: its real paths, tokens, statuses and request ids, before the pretend bank. */
import { randomBytes } from "node:crypto";
import type { Account, Accounts } from "../sandbox/accounts.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "../sandbox/routes.ts";
import { type Executed, PayPalKeys } from "./stand-in-keys.ts";
import { refusal } from "./stand-in-objects.ts";
import { type Asked, type OrderParts, StandInOrders } from "./stand-in-orders.ts";

/** What the stand-in shares with the pretend acquirers. */
export type PayPalStandInParts = OrderParts & { readonly accounts: Accounts };

const orders = "/v2/checkout/orders";
const oneOrder = `${orders}/(?<id>[^/]+)`;
const oneAuthorization = "/v2/payments/authorizations/(?<id>[^/]+)";

// As PayPal's: nine hours, short of a few minutes.
const tokenLifeS = 32_000;
// More than any test or demo asks for; the oldest are refused beyond it.
const tokensMax = 10_000;

/** Every path of PayPal's that our connector uses. */
export function paypalRoutes(parts: PayPalStandInParts): readonly Route[] {
  const standIn = new StandInOrders(parts);
  const keys = new PayPalKeys();
  const tokens = new Map<string, Account>();
  const route = (
    method: "GET" | "POST",
    path: string,
    operation: string,
    handle: (asked: Asked) => Executed | Promise<Executed>,
  ): Route => ({
    method,
    path: new RegExp(`^${path}$`),
    operation: `paypal.${operation}`,
    async handle(request) {
      const account = tokens.get(/^Bearer (\S+)$/.exec(String(request.headers.authorization))?.[1] ?? "");
      if (account === undefined) return refusal(401);
      const execute = async () => handle({ request, account });
      const key = request.headers["paypal-request-id"];
      // Of a void PayPal documents no key.
      const isKeyed = method === "POST" && key !== undefined && operation !== "void";
      return keys.once(isKeyed ? `${account.id} ${operation} ${key}` : undefined, execute);
    },
  });
  return [
    {
      method: "POST",
      path: /^\/v1\/oauth2\/token$/,
      operation: "paypal.token",
      handle: async (request) => openAccount(parts.accounts, tokens, request),
    },
    route("POST", orders, "create", (asked) => standIn.create(asked)),
    route("GET", oneOrder, "read", (asked) => standIn.read(asked)),
    route("POST", `${oneOrder}/authorize`, "authorize", (asked) => standIn.authorize(asked)),
    route("GET", oneAuthorization, "read_authorization", (asked) => standIn.readAuthorization(asked)),
    losingCaptures(
      standIn,
      parts,
      route("POST", `${oneAuthorization}/capture`, "capture", (asked) => standIn.capture(asked)),
    ),
    route("POST", `${oneAuthorization}/void`, "void", (asked) => standIn.void(asked)),
  ];
}

/** The way to PayPal, on which a capture or its answer may get lost where the card says so; before the memory of keys. */
function losingCaptures(standIn: StandInOrders, { issuer }: PayPalStandInParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = standIn.orderOf(request.parameters.id)?.authorization?.record;
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/** A client ID opens the account that its last part names, such as `…_test_shop`, with any secret as long as PayPal's are. */
function openAccount(accounts: Accounts, tokens: Map<string, Account>, request: SandboxRequest): SandboxAnswer {
  const login = /^Basic (\S+)$/.exec(String(request.headers.authorization))?.[1] ?? "";
  const [clientId = "", secret = ""] = Buffer.from(login, "base64").toString().split(":");
  const id = /_((?:test|live)_[A-Za-z0-9]{1,40})$/.exec(clientId)?.[1];
  if (id === undefined || !/^[\w-]{20,128}$/.test(secret)) {
    return { status: 401, body: { error: "invalid_client", error_description: "Client Authentication failed" } };
  }
  if (new URLSearchParams(request.body).get("grant_type") !== "client_credentials") {
    return { status: 400, body: { error: "unsupported_grant_type" } };
  }
  const token = `A21AA${randomBytes(48).toString("base64url")}`;
  tokens.set(token, accounts.find(id));
  const oldest = tokens.keys().next().value;
  if (tokens.size > tokensMax && oldest !== undefined) tokens.delete(oldest);
  const body = { scope: "https://uri.paypal.com/payments/payments", access_token: token, token_type: "Bearer" };
  return { status: 200, body: { ...body, app_id: "APP-80W284485P519543T", expires_in: tokenLifeS } };
}
