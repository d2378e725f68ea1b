/** 200 payments by each wallet while a gateway hangs up, refuses or is silent: each is captured by the other, once. */
import { afterAll, expect, it } from "vitest";
import type { WalletName } from "../../platform/card-token.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { tokenizeWallet } from "./wallet-checkout.ts";

const demo = await joinTestDemo();
const merchant = new ApiCheckout(demo.shopFile);
const count = 200;

const down = (isDown: boolean) => demo.sandbox.setDown("A", isDown);
afterAll(() => down(false));

/** Pays as sheet, card frame and widget do, and returns how the payment ended. */
async function pay(wallet: WalletName, number: string): Promise<string> {
  const session = await merchant.open();
  const token = await tokenizeWallet({ ...demo, file: demo.shopFile }, merchant, session, { wallet, number });
  await merchant.submit(session, token);
  const { status, capturedVia, attempts = [] } = await merchant.read(session.sessionId);
  return `${status} via ${capturedVia}, ${attempts.filter((one) => one.status === "CAPTURED").length} captured`;
}

async function payAll(wallet: WalletName, number: string, atOnce: number): Promise<Record<string, number>> {
  const ends: Record<string, number> = {};
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const end = await pay(wallet, number).catch((error: Error) => error.message);
      ends[end] = (ends[end] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return ends;
}

const viaOther = { "SUCCEEDED via SANDBOX_B, 1 captured": count };

it.each(["apple_pay", "google_pay"] as const)(
  "%s pays with a gateway that hangs up on every request",
  { timeout: 600_000 },
  async (wallet) => {
    await down(true);
    const ends = await payAll(wallet, "4000000000008302", 4);
    await down(false);
    console.log(`${wallet}, SANDBOX_A hangs up: ${JSON.stringify(ends)}`);
    expect(ends).toEqual(viaOther);
  },
);

it.each(["apple_pay", "google_pay"] as const)(
  "%s pays with a gateway that has processed nothing",
  { timeout: 600_000 },
  async (wallet) => {
    const ends = await payAll(wallet, "4000000000008310", 4);
    console.log(`${wallet}, SANDBOX_A refuses the request: ${JSON.stringify(ends)}`);
    expect(ends).toEqual(viaOther);
  },
);

it.each(["apple_pay", "google_pay"] as const)(
  "%s pays with a gateway that does not answer",
  { timeout: 900_000 },
  async (wallet) => {
    const ends = await payAll(wallet, "4000000000008328", 20);
    console.log(`${wallet}, SANDBOX_A is silent: ${JSON.stringify(ends)}`);
    expect(ends).toEqual(viaOther);
  },
);
