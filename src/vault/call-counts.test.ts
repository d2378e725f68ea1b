import { describe, expect, it } from "vitest";
import { CallCounts, type TokenizeCaller } from "./call-counts.ts";
import { callLimits } from "./vault-limits.ts";

const minute = 60_000;
let nowMs = 0;
const clock = { nowMs: () => nowMs, pause: async () => expect.unreachable() };
const countsOf = (copies: () => number = () => 1) => new CallCounts(copies, clock);

let callers = 0;
/** Returns a caller of whom nothing was counted. */
function caller(change: Partial<TokenizeCaller> = {}): TokenizeCaller {
  const one = ++callers;
  const client = { address: `${one}`, network: `${one}` };
  return { environment: "test", session: `ps_${one}`, client, profile: `mer_${one}`, ...change };
}

function admitted(counts: CallCounts, calls: number, next: () => TokenizeCaller): number {
  const admits = () => {
    try {
      counts.countCall(next());
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: expect.any(Number) });
      return false;
    }
  };
  return Array.from({ length: calls }, admits).filter(Boolean).length;
}

describe("CallCounts", () => {
  it.each([1, 2, 7])("admits its share among %d copies, of a session, an address and a network", (copies) => {
    const counts = countsOf(() => copies);
    const share = (calls: number) => Math.ceil(calls / copies);
    const { session, address, network } = callLimits;
    expect(admitted(counts, 500, () => caller({ session: "ps" }))).toBe(share(session.burst));
    const ofAddress = () => caller({ client: { address: "a", network: "a" } });
    expect(admitted(counts, 500, ofAddress)).toBe(share(address.burst));
    const ofNetwork = () => caller({ client: { address: `a ${callers}`, network: "n" } });
    expect(admitted(counts, 500, ofNetwork)).toBe(share(network.burst));
  });

  it("counts nothing for an address once the session has none left", () => {
    const counts = countsOf();
    const client = { address: "a", network: "n" };
    admitted(counts, 100, () => caller({ session: "ps", client }));
    const { session, address } = callLimits;
    expect(admitted(counts, 100, () => caller({ client }))).toBe(address.burst - session.burst);
  });

  it("counts each environment by itself, and admits as many again after a minute", () => {
    const counts = countsOf();
    const both = ["test", "live"] as const;
    const one = caller();
    const { burst } = callLimits.session;
    for (const environment of both) {
      const client = { address: environment, network: environment };
      expect(admitted(counts, 50, () => ({ ...one, environment, client }))).toBe(burst);
    }
    nowMs += minute;
    expect(admitted(counts, 50, () => one)).toBe(burst);
  });

  it("follows the number of copies", () => {
    let copies = 1;
    const counts = countsOf(() => copies);
    const one = caller();
    const half = callLimits.session.burst / 2;
    expect(admitted(counts, half, () => one)).toBe(half);
    copies = 2;
    expect(admitted(counts, half, () => one)).toBeLessThan(half);
  });

  it("admits a merchant's cards until its limit, whatever else was counted", async () => {
    const counts = countsOf();
    admitted(counts, 10_000, () => caller({ profile: "mer" }));
    const cards = Array.from({ length: callLimits.merchant.burst }, () => counts.charge(caller({ profile: "mer" })));
    await expect(Promise.all(cards)).resolves.toHaveLength(callLimits.merchant.burst);
  });

  it("counts pages for their address and network alone", () => {
    const counts = countsOf();
    const client = { address: "a", network: "n" };
    for (let page = 0; page < callLimits.pagesOfAddress.burst; page++) counts.countPage(client);
    expect(() => counts.countPage(client)).toThrow("too many calls");
    counts.countPage({ address: "b", network: "n" });
    counts.countPage(undefined);
    expect(admitted(counts, 1, () => caller({ client }))).toBe(1);
  });
});
