/** Addresses for alerts as they are once each has confirmed. */
import { confirmAlertAddress, recordAlertAddresses } from "../../accounts/alert-addresses.ts";
import type { Tx } from "../../platform/database.ts";

export async function recordConfirmedAddresses(
  tx: Tx,
  merchantId: string,
  addresses: readonly string[],
): Promise<void> {
  const { unconfirmed, removals } = await recordAlertAddresses(tx, merchantId, addresses);
  for (const address of unconfirmed) await confirmAlertAddress(tx, { merchantId, address, removals });
}
