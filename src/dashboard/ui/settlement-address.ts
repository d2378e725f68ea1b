/** The search parameters of the pages Payouts and Settlement: their filters, so that a list can be bookmarked and shared. */
import { utcDay } from "./ledger-address.ts";

/** Days are days in UTC, both included. */
export type PayoutSearch = {
  readonly gateway?: string;
  readonly from?: string;
  readonly to?: string;
  /** Selects only payouts that do not add up. */
  readonly remainder?: true;
};

export type LineSearch = { readonly status?: LineState; readonly reason?: string };

export type SettlementSearch = {
  /** Absent: the open movements. */
  readonly show?: SettlementView;
  readonly reason?: string;
  readonly gateway?: string;
  readonly from?: string;
  readonly to?: string;
};

export const lineStates = ["matched", "unmatched", "account"] as const;
type LineState = (typeof lineStates)[number];
const settlementViews = ["in_balance", "paid", "lines"] as const;
type SettlementView = (typeof settlementViews)[number];

const dayShape = /^\d{4}-\d{2}-\d{2}$/;
const gatewayShape = /^[A-Z][A-Z0-9_]{0,49}$/;
const reasonShape = /^[a-z_]{1,40}$/;

type Given = Readonly<Record<string, unknown>>;

// An address may be typed by hand or from another version: invalid filters are dropped.
function textIn(given: Given, name: string, shape: RegExp): string | undefined {
  const text = given[name];
  return typeof text === "string" && shape.test(text) ? text : undefined;
}

function commonIn(given: Given) {
  const [gateway, from, to] = [
    textIn(given, "gateway", gatewayShape),
    textIn(given, "from", dayShape),
    textIn(given, "to", dayShape),
  ];
  return { ...(gateway && { gateway }), ...(from && { from }), ...(to && { to }) };
}

export function readPayoutSearch(given: Given): PayoutSearch {
  const isWithRemainder = given.remainder === true || given.remainder === "true";
  return { ...commonIn(given), ...(isWithRemainder && { remainder: true as const }) };
}

export function readLineSearch(given: Given): LineSearch {
  const status = lineStates.find((name) => name === given.status);
  const reason = textIn(given, "reason", reasonShape);
  return { ...(status && { status }), ...(reason && { reason }) };
}

export function readSettlementSearch(given: Given): SettlementSearch {
  const show = settlementViews.find((name) => name === given.show);
  const reason = textIn(given, "reason", reasonShape);
  return { ...(show && { show }), ...(reason && { reason }), ...commonIn(given) };
}

/** Returns the days of the page: those of the address, filled up to 31. */
export function settlementDays({ from, to }: SettlementSearch, now = new Date()): { from: string; to: string } {
  const last = to ?? (from ? earlier(dayAfter(from, 30), utcDay(0, now)) : utcDay(0, now));
  return { from: from ?? dayAfter(last, -30), to: last };
}

const earlier = (one: string, other: string) => (one < other ? one : other);

export function dayAfter(day: string, days: number): string {
  return utcDay(-days, new Date(`${day}T00:00:00Z`));
}
