import { describe, expect, it } from "vitest";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const wrongCode = "4000000000008401";
const approved = "4000000000008419";

const demo = await joinTestDemo({ merchants: 3 });
const merchants = demo.file.merchants.map(({ test }) => new ApiCheckout(demo.file, test.secretKey));

async function tryCode(merchant: ApiCheckout, number: string, code: number) {
  const session = await merchant.open();
  const shown = await merchant.submit(session, await merchant.tokenize(session, number, String(code)));
  return { shown, read: await merchant.read(session.sessionId) };
}

describe("33 security codes for one card", () => {
  const reached = (tried: Awaited<ReturnType<typeof tryCode>>[]) => tried.flatMap(({ read }) => read.attempts ?? []);

  it("reach a gateway at most five times, and tell the attacker nothing more", async () => {
    const [merchant] = merchants as [ApiCheckout];
    // Half at one moment, half one after another.
    const first = await Promise.all(Array.from({ length: 16 }, (_, code) => tryCode(merchant, wrongCode, 100 + code)));
    const tried = [...first];
    for (let code = 116; code < 133; code++) tried.push(await tryCode(merchant, wrongCode, code));
    expect(tried).toHaveLength(33);
    expect(reached(tried).length).toBeGreaterThan(0);
    expect(reached(tried).length).toBeLessThanOrEqual(5);
    for (const { shown, read } of tried) {
      expect(read.status).toBe("DECLINED");
      expect(["incorrect_cvc", "too_many_attempts"]).toContain(read.declineCode);
      const asShown = read.declineCode === "too_many_attempts" ? "card_declined" : "incorrect_cvc";
      expect(shown.outcome).toEqual({ decline: { declineCode: asShown } });
    }
    const { attempts } = (await tryCode(merchant, wrongCode, 200)).read;
    expect(attempts ?? []).toEqual([]);
  });

  it("do not touch the same card at another merchant, nor another card", async () => {
    const [, merchant] = merchants as [ApiCheckout, ApiCheckout];
    expect((await tryCode(merchant, wrongCode, 100)).read.declineCode).toBe("incorrect_cvc");
    expect((await tryCode(merchants[0]!, approved, 100)).read.status).toBe("SUCCEEDED");
  });
});

it("a card is approved ten times in an hour", { timeout: 60_000 }, async () => {
  const merchant = merchants[2]!;
  const codes = [];
  for (let time = 0; time < 11; time++) codes.push((await merchant.pay(approved)).declineCode);
  expect(codes).toEqual([...Array(10).fill(undefined), "too_many_attempts"]);
});
