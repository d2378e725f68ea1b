/** Test fixture: a vault with a merchant's keys of both wallets, and authorities that sign as Apple and Google do. */
import { createPublicKey, randomBytes } from "node:crypto";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import { bindingOf, orderHashOf, type WalletOrder } from "../../platform/wallets.ts";
import {
  AppleAuthority,
  type ApplePayment,
  publicKeyOf,
  type TokenChange,
} from "../../sandbox/wallets/apple-authority.ts";
import { GoogleAuthority, type GooglePayment, type GoogleTokenChange } from "../../sandbox/wallets/google-authority.ts";
import { environmentOf, startVaultFixture, type VaultFixture } from "../vault.fixture.ts";
import type { VaultEnvironment } from "../vault-config.ts";
import { activateWalletKey, createWalletKey } from "./wallet-keys.ts";

export const device = "4895370012003478";
export const listedCard = "4111111111111111";
export const order: WalletOrder = { hash: orderHashOf("mer_1", "order-1"), amountMinor: 1_999, currency: "EUR" };

const recipients = { apple_pay: "merchant.com.example", google_pay: "BCR2DN4T263K6XYZ" };
/** The recipient of Google's test environment, whatever the merchant's own id. */
const googleTestRecipient = "12345678901234567890";

export type WalletVault = {
  readonly fixture: VaultFixture;
  readonly test: VaultEnvironment;
  readonly live: VaultEnvironment;
  readonly apple: AppleAuthority;
  readonly google: GoogleAuthority;
  /** Lines of the vault's log. */
  readonly lines: readonly string[];
  /** Makes a merchant's key of a wallet the active one. */
  activate(environment: VaultEnvironment, wallet: "apple_pay" | "google_pay"): Promise<void>;
  /** A token of Apple's for the fixture's order, or with changes. */
  appleToken(change?: TokenChange, of?: Partial<ApplePayment>, by?: AppleAuthority): Promise<string>;
  /** A token of Google's test environment: of a listed card, or with a cryptogram of a device. */
  googleToken(change?: GoogleTokenChange, of?: Partial<GooglePayment>): string;
  /** Posts a token for a session; the grant is for the fixture's order. */
  post(session: string, wallet: "apple_pay" | "google_pay", token: string, of?: WalletOrder): Promise<Response>;
  close(): Promise<void>;
};

export async function startWalletVault(): Promise<WalletVault> {
  const [apple, google, lines] = [await AppleAuthority.create(), new GoogleAuthority(), [] as string[]];
  const walletTestRoots = { apple: [apple.rootPem], google: JSON.stringify(google.keys) };
  const test = { ...environmentOf("test", new Set([listedCard])), walletTestRoots };
  const live = environmentOf("live");
  // Each call of a test counts under its own address.
  const fixture = await startVaultFixture({
    environments: [test, live],
    trustedProxies: ["127.0.0.1"],
    logger: createStrictLog((line) => void lines.push(line)),
  });
  const { database } = fixture;
  const keys = new Map<string, ReturnType<typeof createPublicKey>>();
  const activate: WalletVault["activate"] = async (environment, wallet) => {
    const recipient = recipients[wallet];
    const key = await createWalletKey(database, environment, { merchantId: "mer_1", wallet, recipient });
    const certificate = key.signingRequest ? await apple.issueFor(key.signingRequest, recipient) : new Uint8Array();
    await activateWalletKey(database, environment, { merchantId: "mer_1", id: key.id, certificate });
    const publicKey = key.signingRequest
      ? await publicKeyOf(key.signingRequest)
      : createPublicKey({ key: key.publicKey, format: "der", type: "spki" });
    keys.set(wallet, publicKey);
  };
  await activate(test, "apple_pay");
  await activate(test, "google_pay");
  let calls = 0;
  return {
    fixture,
    test,
    live,
    apple,
    google,
    lines,
    activate,
    appleToken: (change, of, by = apple) =>
      by.makeToken(
        {
          publicKey: keys.get("apple_pay")!,
          recipient: recipients.apple_pay,
          number: device,
          eci: "5",
          currencyCode: "978",
          amountMinor: order.amountMinor,
          binding: bindingOf(order),
          ...of,
        },
        change,
      ),
    googleToken: (change, of) =>
      google.makeToken(
        { publicKey: keys.get("google_pay")!, recipient: googleTestRecipient, number: listedCard, ...of },
        change,
      ),
    post: (session, wallet, token, of = order) =>
      fixture.takeWallet(
        session,
        { wallet, token },
        {
          grant: fixture.grant(session, { order: of }),
          headers: { "x-forwarded-for": `93.184.${(calls >> 8) & 255}.${calls++ & 255}` },
        },
      ),
    close: () => fixture.close(),
  };
}

/** Returns a cryptogram as networks make them, with every character that encodings write otherwise. */
export function newCryptogram(): string {
  return Buffer.concat([Buffer.from([0xfb, 0xef, 0xff]), randomBytes(17)]).toString("base64");
}
