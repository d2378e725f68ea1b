/** What tests and the demo may ask of the pretend acquirers under /admin: what is held, what was asked, and when to go on. */
import { isObject, parseJsonObject } from "../gateway-http.ts";
import type { Account, Accounts } from "./accounts.ts";
import type { CardBehaviour } from "./card-behaviour.ts";
import type { FaultPlan, Faults } from "./faults.ts";
import type { Issuer } from "./issuer.ts";
import { type AcquirerName, acquirerNames, type Ledger } from "./ledger.ts";
import type { PauseFilter, Pauses } from "./pauses.ts";
import type { RequestLog } from "./request-log.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";

/** What the admin paths show and change. */
export type AdminParts = {
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly requests: RequestLog;
};

/**
 * GET  /admin/authorizations?reference=   every authorization on record, also those whose answer was lost
 * GET  /admin/requests?reference=         how often each operation was asked for
 * GET  /admin/pauses?operation=&reference=  waits until something matching is paused
 * POST /admin/hold {operation}            from now on that operation's answers wait
 * POST /admin/release {operation?, reference?}  lets everything matching go on
 * PUT  /admin/faults {seed, rates, lateMsMax}  from now on these faults (faults.ts); without rates none
 * GET  /admin/faults                       how often each has happened
 * PUT  /admin/down {acquirer, down}       hangs up on every request
 * PUT  /admin/cards {acquirer, number, behaviour}  replaces what a card does
 * PUT  /admin/accounts {account, …settings}  notificationUrl, hmacKey, rawCards, manualCapture
 */
export function adminRoutes(parts: AdminParts): readonly Route[] {
  const { ledger, issuer, pauses, faults, requests } = parts;
  return [
    route("GET", "authorizations", ({ query }) => {
      const reference = query.get("reference");
      const all = ledger.all();
      return { authorizations: reference === null ? all : all.filter((one) => one.reference === reference) };
    }),
    route("GET", "requests", ({ query }) => ({ requests: requests.counts(query.get("reference") ?? undefined) })),
    route("GET", "pauses", async ({ query }) => ({
      paused: await pauses.arrival(filterOf(Object.fromEntries(query))),
    })),
    route("POST", "hold", ({ body }) => {
      const { operation } = jsonOf(body);
      if (typeof operation === "string") pauses.holdBack(operation);
      return { operation };
    }),
    route("POST", "release", ({ body }) => ({ released: pauses.release(filterOf(jsonOf(body))) })),
    route("PUT", "faults", ({ body }) => {
      const { seed, rates, lateMsMax } = jsonOf(body);
      if (isObject(rates))
        faults.switchTo({ seed: String(seed), rates: rates as FaultPlan["rates"], lateMsMax: Number(lateMsMax) });
      else faults.switchTo();
      return { counts: faults.counts() };
    }),
    route("GET", "faults", () => ({ counts: faults.counts() })),
    route("PUT", "down", ({ body }) => {
      const { acquirer, down } = jsonOf(body);
      if (isAcquirer(acquirer)) requests.setDown(acquirer, down === true);
      return { acquirer, down };
    }),
    route("PUT", "cards", ({ body }) => {
      const { acquirer, number, behaviour } = jsonOf(body);
      if (isAcquirer(acquirer) && isObject(behaviour)) {
        issuer.setBehaviour(acquirer, String(number), behaviour as CardBehaviour);
      }
      return { acquirer, number, behaviour };
    }),
    route("PUT", "accounts", ({ body }) => changeAccount(parts.accounts, jsonOf(body))),
  ];
}

function route(
  method: Route["method"],
  name: string,
  handle: (request: SandboxRequest) => object | Promise<object>,
): Route {
  return {
    method,
    path: new RegExp(`^/admin/${name}$`),
    operation: `admin.${name}`,
    handle: async (request): Promise<SandboxAnswer> => ({ status: 200, body: await handle(request) }),
  };
}

function changeAccount(accounts: Accounts, settings: Readonly<Record<string, unknown>>): Account {
  const account = accounts.find(String(settings.account));
  const { notificationUrl, hmacKey, rawCards, manualCapture } = settings;
  if (typeof notificationUrl === "string") account.notificationUrl = notificationUrl;
  if (typeof hmacKey === "string") account.hmacKey = hmacKey;
  if (typeof rawCards === "boolean") account.rawCards = rawCards;
  if (typeof manualCapture === "boolean") account.manualCapture = manualCapture;
  return account;
}

function isAcquirer(name: unknown): name is AcquirerName {
  return acquirerNames.some((known) => known === name);
}

function filterOf({ operation, reference }: Readonly<Record<string, unknown>>): PauseFilter {
  return {
    operation: typeof operation === "string" ? operation : undefined,
    reference: typeof reference === "string" ? reference : undefined,
  };
}

function jsonOf(body: string): Readonly<Record<string, unknown>> {
  return parseJsonObject(Buffer.from(body)) ?? {};
}
