/** The forgeries that an admin request orders from the wallets' emulators: one name for each check of the vault. */
import { randomBytes } from "node:crypto";
import type { AppleAuthority, ApplePayment, TokenChange } from "./apple-authority.ts";
import { type GoogleAuthority, type GooglePayment, type GoogleTokenChange, newPair } from "./google-authority.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

// This id is in every token of the forgery `replay`.
const usedId = randomBytes(32);

type AppleForgery = { readonly payment?: Partial<ApplePayment>; readonly change?: () => TokenChange };

const appleForgeries: Readonly<Record<string, AppleForgery>> = {
  version: { change: () => ({ token: { version: "RSA_v1" } }) },
  two_signers: { change: () => ({ signers: 2 }) },
  digest: { change: () => ({ digest: Buffer.alloc(32) }) },
  signing_time: { change: () => ({ signedAt: new Date(Date.now() - 6 * minute) }) },
  signed_ahead: { change: () => ({ signedAt: new Date(Date.now() + 3 * minute) }) },
  application_data: { payment: { binding: Buffer.from("another order") } },
  unbound: { payment: { binding: undefined } },
  key: { change: () => ({ header: { publicKeyHash: randomBytes(32).toString("base64") } }) },
  amount: { payment: { amountMinor: 1 } },
  currency: { payment: { currencyCode: "840" } },
  payment_data: { change: () => ({ content: { paymentDataType: "EMV" } }) },
  replay: { change: () => ({ transactionId: usedId }) },
  // These forgeries are made differently: see `makeAppleToken`.
  root: {},
  tag: {},
};

const googleForgeries: Readonly<Record<string, () => GoogleTokenChange & { readonly recipient?: string }>> = {
  version: () => ({ token: { protocolVersion: "ECv1" } }),
  root: () => ({ root: newPair().privateKey }),
  intermediate_expiry: () => ({ intermediateEndsAt: new Date(Date.now() - minute) }),
  signature: () => ({ signer: newPair().privateKey }),
  recipient: () => ({ recipient: "another" }),
  tag: () => ({ tag: Buffer.alloc(32) }),
  message_expiry: () => ({ messageEndsAt: new Date(Date.now() - minute) }),
  message_far_ahead: () => ({ messageEndsAt: new Date(Date.now() + 31 * day) }),
  payment_method: () => ({ content: { paymentMethod: "BANK" } }),
  auth_method: () => ({ details: { authMethod: "OTHER" } }),
  replay: () => ({ messageId: usedId.toString("base64url") }),
};

/** Every name, by wallet. */
export const forgeries = { apple_pay: Object.keys(appleForgeries), google_pay: Object.keys(googleForgeries) } as const;

export async function makeAppleToken(
  { authority, stranger }: { readonly authority: AppleAuthority; readonly stranger: () => Promise<AppleAuthority> },
  payment: ApplePayment,
  forgery = "",
): Promise<string> {
  const { payment: otherwise, change = () => ({}) } = appleForgeries[forgery] ?? {};
  const issuer = forgery === "root" ? await stranger() : authority;
  const text = await issuer.makeToken({ ...payment, ...otherwise }, change());
  if (forgery !== "tag") return text;
  const token = JSON.parse(text);
  const data = Buffer.from(token.data, "base64");
  data[0]! ^= 1;
  // Signed as it is: only the tag shows that the ciphertext was changed.
  return authority.signAnew({ ...token, data: data.toString("base64") });
}

export function makeGoogleToken(authority: GoogleAuthority, payment: GooglePayment, forgery = ""): string {
  const { recipient = payment.recipient, ...change } = googleForgeries[forgery]?.() ?? {};
  return authority.makeToken({ ...payment, recipient }, change);
}
