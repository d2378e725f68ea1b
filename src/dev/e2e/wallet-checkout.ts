/** Gets the vault's token of a wallet as sheet, card frame and widget do, at the demo's emulators, without a browser. */
import type { WalletName } from "../../platform/card-token.ts";
import type { ApiCheckout, OpenedSession } from "./api-checkout.ts";
import type { SharedDemo } from "./shared-demo.fixture.ts";

type WalletDemo = { readonly file: SharedDemo["shopFile"]; readonly sandbox: Pick<SharedDemo["sandbox"], "origin"> };

/** The customer's choice in the sheet; a device's number gets its own cryptogram, or this one. */
type Choice = { readonly wallet: WalletName; readonly number: string; readonly cryptogram?: string };

export async function tokenizeWallet(
  { file, sandbox }: WalletDemo,
  merchant: ApiCheckout,
  session: OpenedSession,
  { wallet, ...choice }: Choice,
): Promise<string> {
  const { origin } = new URL(file.shopUrl);
  const offered = (await merchant.look(session, origin)).wallets?.find(({ type }) => type === wallet);
  const { amount, currency, binding, google } = offered!;
  const { sessionId, clientSecret, vault } = session;
  const isApple = wallet === "apple_pay";
  /** Asks for Apple's session as the widget does, in which the emulator names the merchant. */
  const merchantIdentifier = async () => {
    const validationUrl = `${sandbox.origin}/paymentservices/paymentSession`;
    const url = `${file.connectOrigin}/payments.v1.CheckoutService/StartWalletSession`;
    const headers = { authorization: `Bearer ${clientSecret}`, origin };
    const { merchantSession } = await post<{ merchantSession: string }>(url, { sessionId, validationUrl }, headers);
    return JSON.parse(merchantSession).merchantIdentifier;
  };
  const sheet = isApple
    ? { merchantIdentifier: await merchantIdentifier(), amount, currency, applicationData: binding, ...choice }
    : { publicKey: google!.publicKey, ...choice };
  const made = await post<{ token?: string }>(`${sandbox.origin}/wallets/${isApple ? "apple" : "google"}/token`, sheet);
  const { token } = await post<{ token: string }>(
    `${new URL(vault.sdkUrl).origin}/wallet-tokens`,
    { wallet, token: isApple ? JSON.stringify(made) : made.token },
    { authorization: `Bearer ${vault.sdkAuthorization}` },
  );
  return token;
}

async function post<Answer>(url: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const all = { "content-type": "application/json", ...headers };
  const answer = await fetch(url, { method: "POST", headers: all, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${answer.status} from ${new URL(url).pathname}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}
