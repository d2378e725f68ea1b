/** Issues a merchant's keys in one environment: both kinds with its settings on creation, later one at a time. */

import { sessionLifetimeMs } from "../limits.ts";
import type { Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { generateKey, type KeyKind, recordKey } from "./api-keys.ts";
import { recordSettings } from "./merchant-settings.ts";

export type KeyMaker = {
  readonly runtime: Runtime;
  readonly brand: string;
  readonly environment: string;
  /** The cell that the key names; the first one if undefined. */
  readonly cell?: number;
};

/** A merchant's keys in clear, which exist nowhere else. */
export type IssuedKeys = { readonly secretKey: Secret; readonly publishableKey: Secret };

/** Opens one environment to a merchant: creates both keys and the initial settings. */
export async function openEnvironmentTo(tx: Tx, maker: KeyMaker, merchantId: MerchantId): Promise<IssuedKeys> {
  const secretKey = await issueKey(tx, maker, { merchantId, kind: "secret" });
  const publishableKey = await issueKey(tx, maker, { merchantId, kind: "publishable" });
  await recordSettings(tx, {
    merchantId,
    sessionLifetimeMs,
    checkoutOrigins: [],
    publishableKey: publishableKey.expose(),
    statementDescriptor: null,
  });
  return { secretKey, publishableKey };
}

// Session creation hands the publishable key to the widget, so the settings follow.
const replacePublishableKey: Statement = {
  name: "replace_publishable_key",
  text: "UPDATE merchant_settings SET publishable_key = $2 WHERE merchant_id = $1",
};

/** Issues a key of one kind and replaces the one in use, which is refused from the commit on. */
export async function issueKey(
  tx: Tx,
  maker: KeyMaker,
  wanted: { merchantId: MerchantId; kind: Exclude<KeyKind, "restricted"> },
): Promise<Secret> {
  const { merchantId, kind } = wanted;
  const { runtime, ...named } = maker;
  const secret = generateKey(runtime, { ...named, kind });
  await recordKey(tx, { id: runtime.uuid(), merchantId, kind, secret });
  if (kind === "publishable") await tx.query(replacePublishableKey, [merchantId, secret.expose()]);
  return secret;
}
