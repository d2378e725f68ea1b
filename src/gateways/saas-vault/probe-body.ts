/** A connector's test call as it is sent where the external vault has no card to fill in: with a number that is nobody's. Pure. */
import { type ForwardRequest, probe } from "../card-forwarder.ts";

/** Whether a request is a connector's test call. */
export function isProbe({ token, sessionId }: Pick<ForwardRequest, "token" | "sessionId">): boolean {
  return token.expose() === probe.vaultToken.expose() && sessionId === probe.sessionId;
}

/** The JSON of a body that was checked against its destination, with the test card for the vault's placeholders. */
export function fillProbe(checked: unknown, now: Date): string {
  const card: Readonly<Record<string, string>> = {
    // Taken as well-formed by every gateway, and declined by each in live mode: https://docs.stripe.com/testing (2026).
    "{{$card_number}}": "4242424242424242",
    "{{$card_exp_month}}": "12",
    "{{$card_exp_year}}": String(now.getUTCFullYear() + 2),
    "{{$card_cvc}}": "123",
    "{{$card_holder_name}}": "Test Call",
  };
  return JSON.stringify(checked, (_, value: unknown) => (typeof value === "string" ? (card[value] ?? value) : value));
}
