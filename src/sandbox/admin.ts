/**
 * Admin requests of tests and the demo at the sandbox acquirers, under /admin: read holds and request counts, and
 * release pauses.
 */

import type { CardBehaviour, DirectoryBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import type { SandboxClock } from "../gateways/sandbox/clock.ts";
import { isObject, parseJsonObject } from "../platform/outbound-http.ts";
import type { Account, Accounts } from "./accounts.ts";
import type { NotificationSender } from "./b-notifications.ts";
import type { FaultPlan, Faults } from "./faults.ts";
import type { Issuer } from "./issuer.ts";
import { type AcquirerName, acquirerNames, type Ledger, refundedValue } from "./ledger.ts";
import type { PauseFilter, Pauses } from "./pauses.ts";
import type { RequestLog } from "./request-log.ts";
import type { Route, SandboxAnswer, SandboxRequest } from "./routes.ts";
import type { SavedCards } from "./saved-cards.ts";
import type { Statements } from "./statements.ts";
import type { Directory } from "./three-d-secure.ts";

export type AdminParts = {
  readonly accounts: Accounts;
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly directory: Directory;
  readonly notifications: NotificationSender;
  readonly pauses: Pauses;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly clock: SandboxClock;
  readonly savedCards: SavedCards;
  readonly statements: Statements;
};

/**
 * GET  /admin/authorizations?reference=   every authorization, also those whose answer was lost
 * GET  /admin/requests?reference=         number of requests for each operation
 * GET  /admin/pauses?operation=&reference=  waits until a matching request is paused
 * GET  /admin/quiet                       waits until no notification is under way
 * POST /admin/payout                     pays out what every account has
 * POST /admin/hold {operation}            holds back that operation's answers from now on; with `.arrival` behind
 *                                         its name, its requests before they are executed
 * POST /admin/release {operation?, reference?}  releases every matching pause
 * PUT  /admin/faults {seed, rates, lateMsMax}  applies these faults from now on (faults.ts); without rates none
 * GET  /admin/faults                       number of times that each has happened
 * GET  /admin/saved-cards                  stored cards that an acquirer still keeps, without their numbers
 * GET  /admin/kept-errors                  idempotency keys to whose repeats the emulator of Adyen answers an error
 * POST /admin/refund {id, value?}          refunds an authorization by hand: what is left, without a value
 * POST /admin/capture {id, value?}         captures a hold, or a part of it, by hand
 * POST /admin/void {id}                    voids a hold by hand
 * PUT  /admin/clock {aheadMs}              sets the acquirers' clock ahead of the true time
 * PUT  /admin/down {acquirer, down}       hangs up on every request
 * PUT  /admin/cards {acquirer, number, behaviour}  replaces a card's behaviour
 * PUT  /admin/directory {number, behaviour}  replaces the reaction of SANDBOX_3DS to a card
 * PUT  /admin/accounts {account, …settings}  notificationUrl, hmacKey, rawCards, manualCapture, readsCharges
 */
export function adminRoutes(parts: AdminParts): readonly Route[] {
  const { ledger, issuer, directory, notifications, pauses, faults, requests, clock, savedCards, statements } = parts;
  return [
    route("GET", "authorizations", ({ query }) => {
      const reference = query.get("reference");
      const all = ledger.all();
      return { authorizations: reference === null ? all : all.filter((one) => one.reference === reference) };
    }),
    route("GET", "saved-cards", () => ({ cards: savedCards.kept() })),
    route("GET", "requests", ({ query }) => ({ requests: requests.counts(query.get("reference") ?? undefined) })),
    route("GET", "pauses", async ({ query }) => ({
      paused: await pauses.arrival(filterOf(Object.fromEntries(query))),
    })),
    route("GET", "quiet", async () => {
      await notifications.quiet();
      return {};
    }),
    route("POST", "hold", ({ body }) => {
      const { operation } = jsonOf(body);
      if (typeof operation === "string") pauses.holdBack(operation);
      return { operation };
    }),
    route("POST", "release", ({ body }) => ({ released: pauses.release(filterOf(jsonOf(body))) })),
    route("POST", "capture", ({ body }) => {
      const { id, value } = jsonOf(body);
      const found = ledger.record(String(id));
      return {
        done: found !== undefined && ledger.captureByHand(found, typeof value === "number" ? value : undefined),
      };
    }),
    route("POST", "void", ({ body }) => {
      const found = ledger.record(String(jsonOf(body).id));
      return { done: found !== undefined && ledger.voidByHand(found) };
    }),
    route("POST", "refund", ({ body }) => {
      const { id, value } = jsonOf(body);
      const found = ledger.record(String(id));
      if (found === undefined) return { refused: "not_found" };
      const left = found.capturedValue - refundedValue(found);
      const refund = ledger.refundByHand(found, typeof value === "number" ? value : left);
      return typeof refund === "string" ? { refused: refund } : { refund };
    }),
    route("POST", "payout", () => {
      statements.payOut();
      return {};
    }),
    route("PUT", "faults", ({ body }) => {
      const { seed, rates, lateMsMax } = jsonOf(body);
      if (isObject(rates))
        faults.switchTo({ seed: String(seed), rates: rates as FaultPlan["rates"], lateMsMax: Number(lateMsMax) });
      else faults.switchTo();
      return { counts: faults.counts() };
    }),
    route("GET", "faults", () => ({ counts: faults.counts() })),
    route("PUT", "clock", ({ body }) => {
      const { aheadMs } = jsonOf(body);
      if (typeof aheadMs === "number") clock.setAhead(aheadMs);
      return { aheadMs };
    }),
    route("PUT", "down", ({ body }) => {
      const { acquirer, down } = jsonOf(body);
      if (isAcquirer(acquirer)) requests.setDown(acquirer, down === true);
      return { acquirer, down };
    }),
    route("PUT", "directory", ({ body }) => {
      const { number, behaviour } = jsonOf(body);
      if (isObject(behaviour)) directory.setBehaviour(String(number), behaviour as DirectoryBehaviour);
      return { number, behaviour };
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
  const { notificationUrl, hmacKey, rawCards, manualCapture, readsCharges } = settings;
  if (typeof notificationUrl === "string") account.notificationUrl = notificationUrl;
  if (typeof hmacKey === "string") account.hmacKey = hmacKey;
  if (typeof rawCards === "boolean") account.rawCards = rawCards;
  if (typeof manualCapture === "boolean") account.manualCapture = manualCapture;
  if (typeof readsCharges === "boolean") account.readsCharges = readsCharges;
  accounts.save(account);
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
