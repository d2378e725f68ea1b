import { describe, expect, it } from "vitest";
import { CallCounts, type TokenizeCaller } from "./call-counts.ts";
import { callsPerAddress, callsPerMerchant, callsPerSession, countWindowMs } from "./vault-limits.ts";

const now = 1_000 * countWindowMs;
let callers = 0;
/** Returns a caller of whom nothing was counted. */
const caller = (change: Partial<TokenizeCaller> = {}): TokenizeCaller => {
  const one = ++callers;
  return { environment: "test", session: `ps_${one}`, address: `192.0.2.${one}`, profile: `mer_${one}`, ...change };
};
/** Counts calls, and returns how many were admitted. */
const admitted = (counts: CallCounts, calls: number, next: () => TokenizeCaller, at = now) =>
  Array.from({ length: calls }, () => counts.admit(next(), at)).filter(Boolean).length;

describe("CallCounts", () => {
  it.each([1, 2, 7])("admits its share among %d copies, of a session, an address and a merchant", (copies) => {
    const counts = new CallCounts(() => copies);
    const share = (calls: number) => Math.ceil(calls / copies);
    expect(admitted(counts, 1_500, () => caller({ session: "ps" }))).toBe(share(callsPerSession));
    expect(admitted(counts, 1_500, () => caller({ address: "a" }))).toBe(share(callsPerAddress));
    expect(admitted(counts, 1_500, () => caller({ profile: "m" }))).toBe(share(callsPerMerchant));
  });

  it("charges nobody for a call that the one before refuses", () => {
    const counts = new CallCounts(() => 1);
    admitted(counts, 100, () => caller({ session: "ps", address: "a", profile: "m" }));
    expect(admitted(counts, 100, () => caller({ address: "a", profile: "m" }))).toBe(callsPerAddress - callsPerSession);
    expect(admitted(counts, 2_000, () => caller({ profile: "m" }))).toBe(callsPerMerchant - callsPerAddress);
  });

  it("counts each environment and each window by itself", () => {
    const counts = new CallCounts(() => 1);
    const both = ["test", "live"] as const;
    const one = caller();
    for (const environment of both) expect(admitted(counts, 50, () => ({ ...one, environment }))).toBe(callsPerSession);
    expect(admitted(counts, 1, () => one, now + countWindowMs - 1)).toBe(0);
    expect(admitted(counts, 1, () => one, now + countWindowMs)).toBe(1);
  });

  it("follows the number of copies within a window", () => {
    let copies = 1;
    const counts = new CallCounts(() => copies);
    const one = caller();
    expect(admitted(counts, 15, () => one)).toBe(15);
    copies = 2;
    expect(counts.admit(one, now)).toBe(false);
  });
});
