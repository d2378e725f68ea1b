/** What the address of the list of payments says: its filters, so that a list can be kept and handed on. */

/** Each absent for any. Amounts are as people write them, in units of the currency; dates are days of the browser's zone. */
export type PaymentSearch = {
  /** What is looked for, whatever it is; the filters rest meanwhile. */
  readonly q?: string;
  readonly status?: PaymentState;
  readonly gateway?: string;
  readonly order?: string;
  readonly currency?: string;
  readonly from?: number;
  readonly to?: number;
  readonly after?: string;
  readonly before?: string;
  readonly failover?: boolean;
};

/** What a list can be narrowed to: the states of a session, and the time between its submission and its end. */
export const paymentStates = ["succeeded", "declined", "degraded", "processing", "created", "expired"] as const;
/** One of them. */
export type PaymentState = (typeof paymentStates)[number];

// An address may have been typed, or be from another version: what is no filter is left out.
const shapes: Readonly<Record<Exclude<keyof PaymentSearch, "failover" | "status">, RegExp>> = {
  q: /^.{1,255}$/su,
  gateway: /^[A-Z][A-Z0-9_]{0,49}$/,
  order: /^.{1,255}$/su,
  currency: /^[A-Z]{3}$/,
  from: /^\d{1,12}(\.\d{1,3})?$/,
  to: /^\d{1,12}(\.\d{1,3})?$/,
  after: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
  before: /^(19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}$/,
};

/** The filters of an address, or of a form. */
export function readPaymentSearch(given: Readonly<Record<string, unknown>>): PaymentSearch {
  const texts = Object.entries(shapes).flatMap(([name, shape]) => {
    const text = ["string", "number"].includes(typeof given[name]) ? String(given[name]).trim() : "";
    const isAmount = name === "from" || name === "to";
    return shape.test(text) ? [[name, isAmount ? Number(text) : text]] : [];
  });
  const status = paymentStates.find((state) => state === given.status);
  return {
    ...Object.fromEntries(texts),
    ...(status && { status }),
    ...((given.failover === true || given.failover === "true") && { failover: true }),
  };
}

/** 49.5 with two decimals is 4950; undefined for what has more decimals than its currency. Nothing is rounded. */
export function minorOf(amount: number | undefined, exponent: number): bigint | undefined {
  if (amount === undefined) return undefined;
  const [whole = "", fraction = ""] = String(amount).split(".");
  return fraction.length > exponent ? undefined : BigInt(whole + fraction.padEnd(exponent, "0"));
}

/** When a day of the browser's zone begins, so many days on; undefined for a day that no calendar has. */
export function dayBegin(day: string | undefined, daysOn = 0): Date | undefined {
  if (day === undefined) return undefined;
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const begin = new Date(year, month - 1, date + daysOn);
  return new Date(year, month - 1, date).getMonth() === month - 1 ? begin : undefined;
}

/** A moment's day in the browser's zone, as dates are written in addresses. */
export function dayOf(at: Date): string {
  const [month, date] = [at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${at.getFullYear()}-${month}-${date}`;
}
