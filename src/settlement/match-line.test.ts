import { describe, expect, it } from "vitest";
import type { LineKind, StatementLine } from "../gateways/statements.ts";
import { type Entry, matchLines, type Named } from "./match-line.ts";

const eur = (amountMinor: number) => ({ amountMinor, currency: "EUR" });
function line(kind: LineKind, minor = 4900, changes: Partial<StatementLine> = {}): StatementLine {
  return {
    ...{ lineId: "l", kind, gatewayType: "t", gatewayReference: "r", names: {}, gross: eur(minor) },
    settled: { grossMinor: minor, feeMinor: 94, netMinor: minor - 94, currency: "EUR" },
    ...changes,
  };
}
const entry = (changes: Partial<Entry> = {}): Entry => ({
  ...{ sessionId: "s1", type: "CAPTURED", id: "a1", ordinal: 0, amountMinor: 4900, currency: "EUR", at: new Date(0) },
  ...{ isPaid: false },
  ...changes,
});
const ours = (...entries: Entry[]): Named => ({ sessionId: "s1", hasOurName: true, entries });
const nothing: Named = { hasOurName: false, entries: [] };
const match = (one: StatementLine, named: Named) => matchLines([one], [named])[0]!;
const reasonOf = (one: StatementLine, named: Named) => {
  const found = match(one, named);
  return found.status === "UNMATCHED" ? found.reason : found.status;
};

describe("a line of a statement", () => {
  it("is the movement of its type, amount, currency and direction", () => {
    expect(match(line("CAPTURE"), ours(entry()))).toEqual({ status: "MATCHED", entry: entry() });
    const refund = entry({ type: "REFUNDED", id: "r1", amountMinor: 900 });
    expect(match(line("REFUND", -900), ours(entry(), refund))).toEqual({ status: "MATCHED", entry: refund });
    const taken = entry({ type: "CHARGEBACK", id: "d1", ordinal: 1 });
    expect(reasonOf(line("CHARGEBACK", -4900), ours(taken))).toBe("MATCHED");
    expect(reasonOf(line("CHARGEBACK", 4900), ours(taken))).toBe("amount_differs");
    expect(reasonOf(line("CAPTURE", -4900), ours(entry()))).toBe("amount_differs");
  });

  it.each<[string, StatementLine, Named, string]>([
    ["another amount", line("CAPTURE", 4899), ours(entry()), "amount_differs"],
    ["another currency", line("CAPTURE"), ours(entry({ currency: "USD" })), "amount_differs"],
    ["a movement that is paid", line("CAPTURE"), ours(entry({ isPaid: true })), "already_paid"],
    ["a payment of ours without the movement", line("REFUND", -900), ours(entry()), "not_found"],
    ["a name of ours without a payment", line("CAPTURE"), { hasOurName: true, entries: [] }, "not_found"],
    ["a payment that is not ours", line("CAPTURE"), nothing, "not_ours"],
    ["a type that is not known", line("OTHER"), ours(entry()), "unknown_type"],
    ["no exact amount", line("CAPTURE", 4900, { settled: undefined }), ours(entry()), "unreadable"],
    [
      "no sum",
      line("CAPTURE", 4900, { settled: { grossMinor: 4900, feeMinor: 94, netMinor: 4807, currency: "EUR" } }),
      ours(entry()),
      "unreadable",
    ],
    ["a fee of the account", line("FEE", -30), nothing, "ACCOUNT"],
    ["a payout", line("PAYOUT", -30), nothing, "ACCOUNT"],
  ])("with %s says so", (_, one, named, expected) => {
    expect(reasonOf(one, named)).toBe(expected);
  });

  it("pays no movement that a line before it pays, and a second chargeback by its own line", () => {
    const [first, second] = [entry({ type: "CHARGEBACK", ordinal: 1 }), entry({ type: "CHARGEBACK", ordinal: 3 })];
    const named = ours(first, second);
    const lines = [1, 2, 3].map(() => line("CHARGEBACK", -4900));
    const matches = matchLines(lines, [named, named, named]);
    expect(matches.map((one) => (one.status === "MATCHED" ? one.entry.ordinal : one))).toEqual([
      ...[1, 3, { status: "UNMATCHED", reason: "already_paid", sessionId: "s1" }],
    ]);
  });
});
