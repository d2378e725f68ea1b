/** The card of test calls: a number that gateways publish for tests, which is nobody's. Pure. */
import type { Card } from "./card.ts";

/** Token and session by which the core asks for it; no payment's session has this name, so none is paid by it. */
export const probe = { token: "tok_probe", sessionId: "verify" } as const;

// Taken as well-formed by every gateway, and declined by each in live mode: https://docs.stripe.com/testing (2026).
const number = "4242424242424242";

/** Whether a request asks for this card instead of a customer's. */
export function isProbe({ token, sessionId }: { readonly token: string; readonly sessionId: string }): boolean {
  return token === probe.token && sessionId === probe.sessionId;
}

/** The card as of `now`, good for two more years. */
export function probeCard(now: Date): Card {
  return { number, expMonth: 12, expYear: now.getUTCFullYear() + 2, cvc: "123", holder: "Test Call" };
}
