/**
 * Builds a connector's test call for an external vault, which has no card to fill in: the number belongs to no
 * customer. Pure.
 */
import { probeCardOf } from "../../platform/gateway-facts.ts";
import { type ForwardRequest, probe } from "../card-forwarder.ts";

/** Reports whether a request is a connector's test call. */
export function isProbe({ token, sessionId }: Pick<ForwardRequest, "token" | "sessionId">): boolean {
  return token.expose() === probe.vaultToken.expose() && sessionId === probe.sessionId;
}

/**
 * Returns the JSON of a body that was checked against its destination, with the gateway's test card in place of the
 * vault's placeholders.
 */
export function fillProbe(checked: unknown, gateway: string, now: Date): string {
  const probed = probeCardOf(gateway, now);
  const card: Readonly<Record<string, string>> = {
    "{{$card_number}}": probed.number,
    "{{$card_exp_month}}": String(probed.expMonth).padStart(2, "0"),
    "{{$card_exp_year}}": String(probed.expYear),
    "{{$card_cvc}}": probed.cvc,
    "{{$card_holder_name}}": probed.holder,
  };
  return JSON.stringify(checked, (_, value: unknown) => (typeof value === "string" ? (card[value] ?? value) : value));
}
