import { describe, expect, it } from "vitest";
import type { ReportedNotice } from "../core/rows/disputes.ts";
import type { DisputeEvent } from "../gateways/dispute-notice.ts";
import { foldDispute } from "./fold-dispute.ts";

const noticeOf = (event: DisputeEvent, others: Partial<ReportedNotice> = {}): ReportedNotice => ({
  event,
  amountMinor: 4900,
  currency: "EUR",
  at: "2026-11-29T10:00:00.000Z",
  ...others,
});

function* permutations<Item>(items: readonly Item[]): Generator<Item[]> {
  if (items.length === 0) yield [];
  for (const [place, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(place, 1))) yield [item, ...rest];
  }
}

const states: readonly [DisputeEvent[], string, string][] = [
  [["fraudReported"], "FRAUD_WARNING", "CLOSED"],
  [["inquiryOpened"], "INQUIRY", "NEEDS_RESPONSE"],
  [["inquiryOpened", "answered"], "INQUIRY", "UNDER_REVIEW"],
  [["inquiryOpened", "answerTimeOver"], "INQUIRY", "CLOSED"],
  [["inquiryOpened", "charged"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["inquiryOpened", "answerTimeOver", "charged"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["inquiryOpened", "answered", "charged"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["inquiryOpened", "answered", "answerTimeOver", "chargebackOpened", "charged"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["inquiryOpened", "answerTimeOver", "charged", "returned"], "CHARGEBACK", "WON"],
  [["chargebackOpened"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["chargebackOpened", "charged"], "CHARGEBACK", "NEEDS_RESPONSE"],
  [["chargebackOpened", "charged", "answered"], "CHARGEBACK", "UNDER_REVIEW"],
  [["answered"], "CHARGEBACK", "UNDER_REVIEW"],
  [["charged", "answerTimeOver"], "CHARGEBACK", "LOST"],
  [["charged", "answered", "issuerSilent"], "CHARGEBACK", "WON"],
  [["charged", "answered", "returned"], "CHARGEBACK", "WON"],
  [["charged", "answered", "returned", "chargedAgain"], "CHARGEBACK", "LOST"],
  [["charged", "returned", "chargedAgain", "preArbitrationOpened"], "PRE_ARBITRATION", "UNDER_REVIEW"],
  [["charged", "returned", "chargedAgain", "preArbitrationOpened", "preArbitrationWon"], "PRE_ARBITRATION", "WON"],
  [["charged", "returned", "chargedAgain", "preArbitrationOpened", "preArbitrationLost"], "PRE_ARBITRATION", "LOST"],
  [["charged", "remark"], "CHARGEBACK", "NEEDS_RESPONSE"],
];

describe("a dispute", () => {
  it.each(states)(
    "that has seen %s is in %s, %s, in whatever order they arrive and repeat",
    (events, stage, status) => {
      for (const order of permutations(events)) {
        const notices = [...order, ...order].map((event) => noticeOf(event));
        expect(foldDispute(notices)).toMatchObject({ stage, status });
      }
    },
  );

  // Of different amounts, deadlines and codes.
  const life = [
    noticeOf("inquiryOpened", { respondBy: "2026-12-01T00:00:00.000Z", reasonCode: "30" }),
    noticeOf("chargebackOpened", { respondBy: "2026-12-20T00:00:00.000Z", network: "visa" }),
    noticeOf("charged", { respondBy: "2026-12-18T00:00:00.000Z", reasonCode: "13.1", amountMinor: 4800 }),
    noticeOf("charged", { amountMinor: 1000 }),
    noticeOf("returned", { amountMinor: 4500 }),
    noticeOf("chargedAgain", { amountMinor: 4700, reasonCode: "10.4" }),
    noticeOf("remark", { amountMinor: undefined, currency: undefined }),
  ];

  it("is the same in all 5 040 orders of its life", () => {
    const folded = new Set([...permutations(life)].map((notices) => JSON.stringify(foldDispute(notices))));
    expect(folded.size).toBe(1);
    expect(foldDispute(life)).toEqual({
      stage: "CHARGEBACK",
      status: "LOST",
      amount: { amountMinor: 4700, currency: "EUR" },
      reason: "fraudulent",
      networkReasonCode: "10.4",
      network: "visa",
      respondBy: new Date("2026-12-18T00:00:00Z"),
      taken: [{ currency: "EUR", takenMinor: 10_500, returnedMinor: 4700 }],
    });
  });

  it("never un-takes or un-returns money, whatever arrives next", () => {
    for (const notices of permutations(life)) {
      let [taken, returned] = [0, 0];
      for (let count = 1; count <= notices.length; count++) {
        const [sums = { takenMinor: 0, returnedMinor: 0 }] = foldDispute(notices.slice(0, count))?.taken ?? [];
        expect(sums.takenMinor).toBeGreaterThanOrEqual(taken);
        expect(sums.returnedMinor).toBeGreaterThanOrEqual(returned);
        expect(sums.returnedMinor).toBeLessThanOrEqual(sums.takenMinor);
        [taken, returned] = [sums.takenMinor, sums.returnedMinor];
      }
    }
  });

  it.each([
    [["charged"], 4900, 0],
    [["chargebackOpened"], undefined, undefined],
    [["returned"], 4900, 4900],
    [["charged", "returned"], 4900, 4900],
    [["chargedAgain"], 9800, 4900],
    [["charged", "returned", "chargedAgain"], 9800, 4900],
  ] as const)("that has seen %s has taken %s and returned %s", (events, takenMinor, returnedMinor) => {
    const expected = takenMinor === undefined ? [] : [{ currency: "EUR", takenMinor, returnedMinor }];
    expect(foldDispute(events.map((event) => noticeOf(event)))?.taken).toEqual(expected);
  });

  it.each([
    [[2000, 2900], 4900],
    [[2900, 2000, 2000], 4900],
    [[2000, 4900], 4900],
    [[1000], 1000],
  ])("that was charged 4900 and reversed by %s has returned %s", (amounts, returnedMinor) => {
    const reversals = amounts.map((amountMinor) => noticeOf("returned", { amountMinor }));
    for (const notices of permutations([noticeOf("charged"), ...reversals]))
      expect(foldDispute(notices)?.taken).toEqual([{ currency: "EUR", takenMinor: 4900, returnedMinor }]);
  });

  const paid = { amountMinor: 4900, currency: "EUR" };
  it.each([
    ["two parts", [2000, 1500], [], 3500, 3500, 0],
    ["two parts, one of them twice", [2000, 1500, 2000], [], 3500, 3500, 0],
    ["two parts that came back", [2000, 1500], [1500, 2000], 3500, 3500, 3500],
    ["two parts of which one came back", [2000, 1500], [1500], 3500, 3500, 1500],
    ["an amount and its correction", [4800, 4900], [4900], 4900, 4900, 4900],
    ["more than was captured", [5000], [5000], 5000, 5000, 5000],
  ])(
    "that was charged %s counts them, in any order",
    (_, charged, returned, amountMinor, takenMinor, returnedMinor) => {
      const notices = [
        ...charged.map((one) => noticeOf("charged", { amountMinor: one })),
        ...returned.map((one) => noticeOf("returned", { amountMinor: one })),
      ];
      for (const order of permutations(notices)) {
        let [taken, back] = [0, 0];
        for (let count = 1; count <= order.length; count++) {
          const [sums] = foldDispute(order.slice(0, count), paid)!.taken;
          expect(sums!.takenMinor).toBeGreaterThanOrEqual(taken);
          expect(sums!.returnedMinor).toBeGreaterThanOrEqual(back);
          [taken, back] = [sums!.takenMinor, sums!.returnedMinor];
        }
        expect(foldDispute(order, paid)).toMatchObject({
          amount: { amountMinor, currency: "EUR" },
          taken: [{ currency: "EUR", takenMinor, returnedMinor }],
        });
      }
    },
  );

  it.each<[string | undefined, ReportedNotice[]]>([
    ["2026-12-01", [noticeOf("inquiryOpened", { respondBy: "2026-12-01" })]],
    [undefined, [noticeOf("inquiryOpened", { respondBy: "2026-12-01" }), noticeOf("charged")]],
    [undefined, [noticeOf("inquiryOpened"), noticeOf("answered", { respondBy: "2026-12-01" }), noticeOf("charged")]],
    [
      "2026-12-18",
      [noticeOf("chargebackOpened", { respondBy: "2026-12-20" }), noticeOf("charged", { respondBy: "2026-12-18" })],
    ],
    [undefined, [noticeOf("charged", { respondBy: "2026-12-18" }), noticeOf("preArbitrationOpened")]],
    [
      "2026-12-30",
      [noticeOf("charged", { respondBy: "2026-12-18" }), noticeOf("preArbitrationOpened", { respondBy: "2026-12-30" })],
    ],
  ])("has the deadline of its stage, %s", (deadline, notices) => {
    for (const order of permutations(notices))
      expect(foldDispute(order)?.respondBy).toEqual(deadline && new Date(deadline));
  });

  it("is not known by a remark alone", () => {
    expect(foldDispute([noticeOf("remark")])).toBeUndefined();
    expect(foldDispute([])).toBeUndefined();
  });
});
