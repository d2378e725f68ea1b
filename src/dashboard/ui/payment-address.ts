/** The search parameters of the list of payments: its filters, so that a list can be bookmarked and shared. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

/**
 * Each is optional. Amounts are in units of the currency, as people write them; dates are days of the browser's zone.
 */
export type PaymentSearch = {
  /** The search text; it suspends the filters. */
  readonly q?: string;
  readonly status?: PaymentState;
  readonly gateway?: string;
  readonly order?: string;
  /** The last four digits of the card. */
  readonly card?: string;
  readonly currency?: string;
  readonly from?: number;
  readonly to?: number;
  readonly after?: string;
  readonly before?: string;
  readonly failover?: boolean;
  readonly dispute?: DisputeState;
};

/**
 * The states to filter by: those of a session, and between its submission and its end `processing`, or `held` while it waits
 * for its merchant. `failed` is the status DEGRADED; `released` was approved, and then cancelled or not captured in time.
 */
export const paymentStates = [
  "succeeded",
  "declined",
  "failed",
  "processing",
  "held",
  "released",
  "created",
  "expired",
] as const;
type PaymentState = (typeof paymentStates)[number];

/** The states of disputes to filter by; `any` has them all. */
export const disputeStates = ["any", "needs_response", "under_review", "won", "lost", "accepted", "closed"] as const;
type DisputeState = (typeof disputeStates)[number];

// An address may be typed by hand or from another version: invalid filters are dropped.
const shapes: Readonly<Record<Exclude<keyof PaymentSearch, "failover" | "status" | "dispute">, RegExp>> = {
  q: /^.{1,255}$/su,
  gateway: /^[A-Z][A-Z0-9_]{0,49}$/,
  order: /^.{1,255}$/su,
  card: /^\d{4}$/,
  currency: /^[A-Z]{3}$/,
  from: /^\d{1,12}(\.\d{1,3})?$/,
  to: /^\d{1,12}(\.\d{1,3})?$/,
  after: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
  before: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
};

function readShapes(wanted: Readonly<Record<string, RegExp>>, given: Readonly<Record<string, unknown>>) {
  const texts = Object.entries(wanted).flatMap(([name, shape]) => {
    const text = ["string", "number"].includes(typeof given[name]) ? String(given[name]).trim() : "";
    const isAmount = name === "from" || name === "to";
    return shape.test(text) ? [[name, isAmount ? Number(text) : text]] : [];
  });
  return Object.fromEntries(texts);
}

export function readPaymentSearch(given: Readonly<Record<string, unknown>>): PaymentSearch {
  const status = paymentStates.find((state) => state === given.status);
  const dispute = disputeStates.find((state) => state === given.dispute);
  return {
    ...readShapes(shapes, given),
    ...(status && { status }),
    ...(dispute && { dispute }),
    ...((given.failover === true || given.failover === "true") && { failover: true }),
  };
}

/** Returns the same list with other values under `keys`; every other filter stays. */
export function withChosen<Search extends object>(
  search: Search,
  keys: readonly (keyof Search)[],
  chosen: Partial<Search>,
): Search {
  const others = Object.entries(search).filter(([key]) => !keys.includes(key as keyof Search));
  return { ...Object.fromEntries(others), ...chosen } as Search;
}

/** A customer, by the address or by the merchant's reference; neither where an address names none. */
export type CustomerSearch = { readonly email?: string; readonly customer?: string };

export function readCustomerSearch({ email, customer }: Readonly<Record<string, unknown>>): CustomerSearch {
  // A reference of digits is a number in an address that was typed by hand.
  const customerRef = typeof customer === "number" ? String(customer) : customer;
  if (typeof customerRef === "string" && /^.{1,255}$/su.test(customerRef)) return { customer: customerRef };
  const text = typeof email === "string" ? email.trim() : "";
  return /^[^@]+@[^@]+$/.test(text) && text.length <= 254 ? { email: text } : {};
}

/** The filters that the lists of payments and of refunds share. */
export type MoneySearch = Pick<PaymentSearch, "gateway" | "currency" | "from" | "to" | "after" | "before"> & {
  readonly status?: string;
};

export type RefundSearch = Omit<MoneySearch, "status"> & {
  readonly status?: RefundState;
  /** A whole id, a reference of the refund, or an order reference. */
  readonly reference?: string;
};

export const refundStates = ["pending", "succeeded", "failed"] as const;
type RefundState = (typeof refundStates)[number];

export function readRefundSearch(given: Readonly<Record<string, unknown>>): RefundSearch {
  const { gateway, currency, from, to, after, before, order } = shapes;
  const status = refundStates.find((state) => state === given.status);
  return {
    ...readShapes({ gateway, currency, from, to, after, before, reference: order }, given),
    ...(status && { status }),
  };
}

/** The amounts of a filter in minor units, or why they cannot be searched. */
export type SearchedAmounts =
  | { readonly type: "amounts"; readonly minor: { readonly amountFrom?: bigint; readonly amountTo?: bigint } }
  | { readonly type: "notLoaded" }
  | { readonly type: "problem"; readonly title: string; readonly advice: string };

/** Reads the amounts of a filter. They need a currency, and have at most its decimals; never rounds. */
export function amountsOf(
  { from, to, currency }: Pick<PaymentSearch, "from" | "to" | "currency">,
  currencies: readonly { readonly code: string; readonly exponent: number }[],
): SearchedAmounts {
  if (from === undefined && to === undefined) return { type: "amounts", minor: {} };
  if (currency === undefined)
    return { type: "problem", title: "The amount has no currency", advice: "Choose the currency of the amount." };
  if (currencies.length === 0) return { type: "notLoaded" };
  const exponent = currencies.find(({ code }) => code === currency)?.exponent;
  if (exponent === undefined)
    return { type: "problem", title: `There is no currency ${currency}`, advice: "Choose another currency." };
  const [amountFrom, amountTo] = [minorOf(from, exponent), minorOf(to, exponent)];
  const unread = [amountFrom === undefined ? from : undefined, amountTo === undefined ? to : undefined];
  const [wrong] = unread.filter((amount) => amount !== undefined);
  if (wrong !== undefined) {
    const title = `${currency} has fewer decimals than ${wrong}`;
    return { type: "problem", title, advice: "Enter an amount with fewer decimals." };
  }
  const minor = { ...(amountFrom !== undefined && { amountFrom }), ...(amountTo !== undefined && { amountTo }) };
  return { type: "amounts", minor };
}

/** Returns the shared filters of an address, as both lists of the service take them. */
export function moneyFilterOf({ gateway, currency, after, before }: MoneySearch, amounts: SearchedAmounts) {
  const [createdAfter, createdBefore] = [dayBegin(after), dayBegin(before, 1)];
  return {
    ...(gateway && { gateway }),
    ...(currency && { currency }),
    ...(amounts.type === "amounts" && amounts.minor),
    ...(createdAfter && { createdAfter: timestampFromDate(createdAfter) }),
    ...(createdBefore && { createdBefore: timestampFromDate(createdBefore) }),
  };
}

/**
 * Returns minor units: 49.5 with two decimals is 4950; undefined for more decimals than the currency has. Never rounds.
 */
export function minorOf(amount: number | undefined, exponent: number): bigint | undefined {
  if (amount === undefined) return undefined;
  const [whole = "", fraction = ""] = String(amount).split(".");
  return fraction.length > exponent ? undefined : BigInt(whole + fraction.padEnd(exponent, "0"));
}

/** Returns the start of a day of the browser's zone, `daysOn` days later; undefined for an invalid date. */
export function dayBegin(day: string | undefined, daysOn = 0): Date | undefined {
  if (day === undefined) return undefined;
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const begin = new Date(year, month - 1, date + daysOn);
  return new Date(year, month - 1, date).getMonth() === month - 1 ? begin : undefined;
}

/** Returns a time's day in the browser's zone, or that many days earlier, as dates are written in addresses. */
export function dayOf(at: Date, daysBack = 0): string {
  // By the calendar: a day may have 23 or 25 hours.
  const day = new Date(at.getFullYear(), at.getMonth(), at.getDate() - daysBack);
  const [month, date] = [day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${day.getFullYear()}-${month}-${date}`;
}
