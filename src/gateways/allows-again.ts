/** Says which decline codes of which gateways allow to send the same payment to the gateway once more. */
import { declines as adyen } from "./adyen/declines.ts";
import type { DeclineTable } from "./declines.ts";
import { declines as paypal } from "./paypal/declines.ts";
import { declines as sandboxA } from "./sandbox/a/declines.ts";
import { declines as sandboxB } from "./sandbox/b/declines.ts";
import { declines as stripe } from "./stripe/declines.ts";

const tables: Readonly<Record<string, DeclineTable>> = {
  STRIPE: stripe,
  ADYEN: adyen,
  PAYPAL: paypal,
  SANDBOX_A: sandboxA,
  SANDBOX_B: sandboxB,
};

/** Reports whether a gateway's decline code allows it. */
export function allowsAgain(gateway: string, gatewayCode: string | null): boolean {
  const table = tables[gateway] ?? {};
  return gatewayCode !== null && Object.hasOwn(table, gatewayCode) && table[gatewayCode]?.again !== undefined;
}
