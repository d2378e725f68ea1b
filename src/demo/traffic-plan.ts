/** A shop's payments: a few examples, and a week that is drawn from a seed. The same seed draws the same week. PURE. */

export type PlannedPayment = {
  readonly orderRef: string;
  /** Before the end of the week. */
  readonly minutesAgo: number;
  readonly amountMinor: number;
  readonly currency: string;
} & Manner;

/** The course of a payment: its card, and the steps after its submission. */
type Manner = {
  readonly card: string;
  /**
   * The customer's answer to the bank's challenge (3-D Secure). Without it the page describes no browser, and no bank
   * challenges.
   */
  readonly atBank?: "passes" | "fails" | "cancels";
  /** The end of the hold of a payment that is captured later. */
  readonly hold?: "captured" | "captured in part" | "cancelled" | "waits";
  readonly refund?: "whole" | "part";
};

/** Number of payments in a week: enough for charts with a shape, and made within a minute or two. */
const weekPayments = 600;
const weekMinutes = 7 * 24 * 60;
// For two hours of the week the first gateway has an outage, in which this share of the payments is made.
const trouble = { from: 51 * 60, to: 49 * 60, share: 0.05 };

// Customers by hour of the day, UTC: few at night, most in the evening.
const byHour = [2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 11, 12, 13, 12, 11, 11, 12, 14, 17, 20, 19, 15, 9, 4];
const prices = [1_290, 1_990, 2_490, 3_900, 4_900, 4_900, 7_900, 12_900, 24_900];
const currencies = ["EUR", "EUR", "EUR", "EUR", "USD", "USD", "GBP"];

// Test cards, with the number of customers in a thousand who have them.
const cards: readonly (readonly [number, string])[] = [
  [545, "4242424242424242"],
  [230, "5555555555554444"],
  [60, "378282246310005"],
  [55, "4000000000000002"],
  [12, "4000000000005001"],
  [45, "4000000000009995"],
  [22, "4000000000000069"],
  [12, "4100000000000019"],
  [8, "4000000000009979"],
  [7, "4000002760003184"],
  [4, "4000000000005209"],
];
const troubledCards: readonly (readonly [number, string])[] = [
  [450, "4242424242424242"],
  [420, "4000000000005001"],
  [60, "4000000000004087"],
  [40, "4000000000005035"],
  [30, "4000000000009995"],
];

const [approved, challenge, frictionless] = ["4242424242424242", "4000000000007106", "4000000000003055"];
const times = (count: number, manner: Manner): Manner[] => Array.from({ length: count }, () => manner);

// A handful of everything else that a payment can do, spread over the week.
const weekManners: readonly Manner[] = [
  ...times(8, { card: challenge, atBank: "passes" }),
  { card: challenge, atBank: "fails" },
  { card: challenge, atBank: "cancels" },
  ...times(5, { card: frictionless, atBank: "passes" }),
  ...times(5, { card: approved, hold: "captured" }),
  ...times(2, { card: approved, hold: "captured in part" }),
  ...times(3, { card: approved, hold: "cancelled" }),
  ...times(6, { card: approved, refund: "whole" }),
  ...times(5, { card: approved, refund: "part" }),
  // Its refund is refused.
  { card: "4000000000007197", refund: "whole" },
];

const examples: readonly Manner[] = [
  { card: approved },
  { card: "5555555555554444" },
  // Declined by the first gateway, an error of it, and approved by the second.
  { card: "4000000000000002" },
  { card: "4000000000005001" },
  // Declined by both, and no gateway at work.
  { card: "4000000000009995" },
  { card: "4000000000005035" },
  { card: challenge, atBank: "passes" },
  { card: challenge, atBank: "fails" },
  { card: frictionless, atBank: "passes" },
  { card: approved, hold: "captured in part" },
  { card: approved, hold: "cancelled" },
  ...times(2, { card: approved, hold: "waits" }),
  { card: approved, refund: "whole" },
  { card: approved, refund: "part" },
  { card: "4000000000007197", refund: "whole" },
];

/** Returns a few payments that show what a payment can do, at the present time. */
export function planExamples(): PlannedPayment[] {
  return examples.map((manner, index) => ({
    orderRef: `example-${String(index + 1).padStart(2, "0")}`,
    minutesAgo: 0,
    amountMinor: prices[index % prices.length]!,
    currency: currencies[index % currencies.length]!,
    ...manner,
  }));
}

/** Returns the payments of the week in order of time. The hours of the day follow from its end, `endsAtMs`. */
export function planTraffic(seed: string, endsAtMs: number, payments = weekPayments): PlannedPayment[] {
  const draw = diceOf(seed);
  const troubled = Math.floor(payments * trouble.share);
  const moments = Array.from({ length: payments }, (_, index) =>
    index < troubled ? trouble.to + draw() * (trouble.from - trouble.to) : momentOf(draw, endsAtMs),
  ).toSorted((one, other) => other - one);
  const manners = weekManners.map((manner) => ({ manner, at: draw() })).toSorted((one, other) => one.at - other.at);
  const special = new Map(
    manners.map(({ manner }, index) => [Math.floor(((index + 0.5) * payments) / manners.length), manner]),
  );
  return moments.map((minutesAgo, index) => {
    const isTroubled = minutesAgo <= trouble.from && minutesAgo > trouble.to;
    return {
      orderRef: `${seed}-${String(index + 1).padStart(4, "0")}`,
      minutesAgo,
      amountMinor: pick(prices, draw()) * (draw() < 0.2 ? 2 : 1),
      currency: pick(currencies, draw()),
      card: weighed(isTroubled ? troubledCards : cards, draw()),
      ...special.get(index),
    };
  });
}

/** Draws a minute of the week, weighted by the customers of its hour. */
function momentOf(draw: () => number, endsAtMs: number): number {
  for (;;) {
    const minutesAgo = 1 + draw() * (weekMinutes - 1);
    const at = new Date(endsAtMs - minutesAgo * 60_000);
    const weekend = [0, 6].includes(at.getUTCDay()) ? 0.75 : 1;
    if (draw() * Math.max(...byHour) < byHour[at.getUTCHours()]! * weekend) return minutesAgo;
  }
}

const pick = <Item>(items: readonly Item[], dice: number): Item => items[Math.floor(dice * items.length)]!;

function weighed(table: readonly (readonly [number, string])[], dice: number): string {
  let left = dice * table.reduce((sum, [weight]) => sum + weight, 0);
  const found = table.find(([weight]) => {
    left -= weight;
    return left < 0;
  });
  return found?.[1] ?? table[0]![1];
}

/** Returns a generator of numbers from 0 to 1 by mulberry32 (Tommy Ettinger, public domain). */
function diceOf(seed: string): () => number {
  let state = [...seed].reduce((sum, letter) => Math.imul(sum ^ letter.codePointAt(0)!, 16_777_619), 2_166_136_261);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
