/** 200 payments by each wallet with one gateway down, and with one silent: each is captured by the other, once. */
import { afterAll, expect, it } from "vitest";
import type { WalletName } from "../../platform/card-token.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo();
const merchant = new ApiCheckout(demo.shopFile);
const { origin } = new URL(demo.file.shopUrl);
const count = 200;

async function send<Answer>(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const method = url.includes("/admin/") ? "PUT" : "POST";
  const all = { "content-type": "application/json", ...headers };
  const answer = await fetch(url, { method, headers: all, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${answer.status} from ${new URL(url).pathname}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

const down = (isDown: boolean) => send(`${demo.sandbox.origin}/admin/down`, { acquirer: "A", down: isDown });
afterAll(() => down(false));

/** Asks for Apple's session as the widget does, in which the emulator names the merchant. */
async function merchantIdentifierOf({ sessionId, clientSecret }: OpenedSession): Promise<string> {
  const validationUrl = `${demo.sandbox.origin}/paymentservices/paymentSession`;
  const headers = { authorization: `Bearer ${clientSecret}`, origin };
  const url = `${demo.shopFile.connectOrigin}/payments.v1.CheckoutService/StartWalletSession`;
  const { merchantSession } = await send<{ merchantSession: string }>(url, { sessionId, validationUrl }, headers);
  return JSON.parse(merchantSession).merchantIdentifier;
}

/** Pays as sheet, card frame and widget do, and returns how the payment ended. */
async function pay(wallet: WalletName, number: string): Promise<string> {
  const session = await merchant.open();
  const offered = (await merchant.look(session, origin)).wallets?.find(({ type }) => type === wallet);
  const { amount, currency, binding, google } = offered!;
  const isApple = wallet === "apple_pay";
  const sheet = isApple
    ? { merchantIdentifier: await merchantIdentifierOf(session), number, amount, currency, applicationData: binding }
    : { publicKey: google!.publicKey, number };
  const path = `/wallets/${isApple ? "apple" : "google"}/token`;
  const made = await send<{ token?: string }>(`${demo.sandbox.origin}${path}`, sheet);
  const { vault } = session;
  const { token } = await send<{ token: string }>(
    `${new URL(vault.sdkUrl).origin}/wallet-tokens`,
    { wallet, token: isApple ? JSON.stringify(made) : made.token },
    { authorization: `Bearer ${vault.sdkAuthorization}` },
  );
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
  "%s pays with a gateway that refuses connections",
  { timeout: 600_000 },
  async (wallet) => {
    await down(true);
    const ends = await payAll(wallet, "4000000000008302", 4);
    await down(false);
    console.log(`${wallet}, SANDBOX_A refuses connections: ${JSON.stringify(ends)}`);
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
