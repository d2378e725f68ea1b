/**
 * Erases a card at the gateway that keeps it beside the vault: the payment method of the gateway's own chain, and with
 * the last method the customer.
 */
import type { StoredMethod } from "../../gateways/stored-cards.ts";
import { followUpTimeoutMs } from "../../limits.ts";
import type { ConnectionId } from "../../platform/ids.ts";
import { sha256 } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";

/** A gateway's payment method. `nth` differs with each time that it is to be erased. */
export type KeptAtGateway = StoredMethod & {
  readonly connectionId: ConnectionId;
  readonly gateway: string | null;
  /** Null for an account without verified credentials. */
  readonly credentialVersion: number | null;
  readonly nth: string;
};

/** Resolves once the gateway keeps the card no longer. Rejects if it does not say so: ask again later. */
export async function eraseAtGateway(core: Pick<Core, "bind">, kept: KeptAtGateway): Promise<void> {
  const { connectionId, gateway, credentialVersion, customer, method, isLast, nth } = kept;
  const binding =
    gateway && credentialVersion !== null ? await core.bind(connectionId, gateway, credentialVersion) : undefined;
  if (binding?.connector.eraseMethod === undefined)
    throw new Error(`no account at ${gateway ?? "a gateway"} can erase the card that it keeps`);
  // A gateway may repeat its first answer to a known key.
  const idempotencyKey = `erase_${sha256(`${method} ${nth}`).toString("hex").slice(0, 32)}`;
  const call = { credentials: binding.credentials, timeoutMs: followUpTimeoutMs, idempotencyKey };
  const { type } = await binding.connector.eraseMethod(call, { customer, method, isLast });
  if (type !== "done" && type !== "absent") throw new Error(`${gateway} has not erased a card: ${type}`);
}
