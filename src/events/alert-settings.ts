/**
 * Settings of a merchant's alerts besides their addresses: the topics that it has muted, and its chat's incoming
 * address with the secret that signs the messages. Both are sealed, because the holder of a chat's address can write
 * there.
 */

import type { Database, Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { type KeyRing, Secret, seal, unseal } from "../platform/secrets.ts";
import type { AlertTopic } from "./alerts.ts";
import { type Egress, parseEndpointUrl } from "./egress.ts";
import { generateSigningSecret, type SealingContext } from "./signing-secrets.ts";

/** The incoming address of a chat, and the secret that signs messages to it. */
export type AlertChat = { readonly url: Secret; readonly signingSecret: Secret };

/** The settings as members see them: of the chat only its host. */
export type AlertSettings = { readonly mutedTopics: readonly AlertTopic[]; readonly chatHost: string | null };

const selectSettings: Statement = {
  name: "select_alert_settings",
  text: `SELECT muted_alerts AS "mutedTopics", alert_chat_host AS "chatHost" FROM merchant_settings WHERE merchant_id = $1`,
};

/** Loads the settings. Every merchant has some from its creation on, so their absence is a bug. */
export async function loadAlertSettings(queryable: Queryable, merchantId: MerchantId): Promise<AlertSettings> {
  const [row] = await queryable.query<AlertSettings>(selectSettings, [merchantId]);
  if (row === undefined) throw new Error("a merchant without settings");
  return row;
}

const updateMuted: Statement = {
  name: "mute_alerts",
  text: "UPDATE merchant_settings SET muted_alerts = $2 WHERE merchant_id = $1",
};

/** Replaces the topics whose alerts are shown and not sent. */
export async function recordMutedTopics(tx: Tx, merchantId: MerchantId, topics: readonly AlertTopic[]): Promise<void> {
  await tx.query(updateMuted, [merchantId, topics]);
}

const updateChat: Statement = {
  name: "set_alert_chat",
  text: "UPDATE merchant_settings SET alert_chat_sealed = $2, alert_chat_host = $3 WHERE merchant_id = $1",
};

export const chatAddress = "chat's address";

type ChatContext = SealingContext & {
  readonly runtime: Pick<Runtime, "randomBytes">;
  readonly egress: Pick<Egress, "rule">;
  readonly signingSecretPrefix: string;
};

/**
 * Sets the chat's address with a new signing secret, which is shown only now. Throws `endpoint_not_allowed` for an
 * address that no webhook may have.
 */
export async function recordAlertChat(
  tx: Tx,
  context: ChatContext,
  { merchantId, url: text }: { merchantId: MerchantId; url: string },
): Promise<{ host: string; signingSecret: Secret }> {
  const url = parseEndpointUrl(text, context.egress.rule, chatAddress);
  const signingSecret = generateSigningSecret(context.runtime, context.signingSecretPrefix);
  const sealed = sealChat(context, merchantId, { url: new Secret(url.href), signingSecret });
  await tx.query(updateChat, [merchantId, sealed, url.host]);
  return { host: url.host, signingSecret };
}

export async function removeAlertChat(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(updateChat, [merchantId, null, null]);
}

export function chatAssociatedDataOf(context: Pick<SealingContext, "environmentName">, merchantId: MerchantId): string {
  return `alert-chat/${merchantId}/${context.environmentName}`;
}

function sealChat(context: SealingContext, merchantId: MerchantId, { url, signingSecret }: AlertChat): string {
  const text = JSON.stringify({ url: url.expose(), signingSecret: signingSecret.expose() });
  return seal(context.sealing, chatAssociatedDataOf(context, merchantId), text);
}

export function openChat(context: SealingContext, merchantId: MerchantId, sealed: string): AlertChat {
  const text = unseal(context.sealing, chatAssociatedDataOf(context, merchantId), sealed).expose();
  const { url, signingSecret } = JSON.parse(text) as { url: string; signingSecret: string };
  return { url: new Secret(url), signingSecret: new Secret(signingSecret) };
}

const selectChat: Statement = {
  name: "select_alert_chat",
  text: "SELECT alert_chat_sealed AS sealed FROM merchant_settings WHERE merchant_id = $1",
};

export async function loadAlertChat(
  queryable: Queryable,
  context: SealingContext,
  merchantId: MerchantId,
): Promise<AlertChat | undefined> {
  const [row] = await queryable.query<{ sealed: string | null }>(selectChat, [merchantId]);
  return row?.sealed ? openChat(context, merchantId, row.sealed) : undefined;
}

const lockSealedBefore: Statement = {
  name: "lock_chats_sealed_before",
  text: `SELECT merchant_id AS "merchantId", alert_chat_sealed AS sealed FROM merchant_settings
         WHERE split_part(alert_chat_sealed, '.', 1) <> $1 ORDER BY merchant_id FOR UPDATE`,
};
const replaceSealed: Statement = {
  name: "reseal_chat",
  text: "UPDATE merchant_settings SET alert_chat_sealed = $2 WHERE merchant_id = $1",
};

/** Reseals all chats with the ring's current key. Returns their number. There is at most one for each merchant. */
export async function resealAlertChats(
  database: Database,
  context: SealingContext & { readonly sealing: KeyRing },
): Promise<number> {
  return database.transaction(async (tx) => {
    const rows = await tx.query<{ merchantId: MerchantId; sealed: string }>(lockSealedBefore, [
      context.sealing.current,
    ]);
    for (const { merchantId, sealed } of rows) {
      await tx.query(replaceSealed, [merchantId, sealChat(context, merchantId, openChat(context, merchantId, sealed))]);
    }
    return rows.length;
  });
}
