/**
 * Sends alerts to the mail addresses and the chat that their merchant has set, when they open and when they are over:
 * at least once, each recipient separately, independent of deliveries.
 */
import { alertAttemptsMax, alertMailsADay, alertNewsMs, alertRepeatFirstMs, alertRepeatLongestMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Handover, Mailer } from "../platform/mail.ts";
import type { Runtime } from "../platform/runtime.ts";
import { openChat } from "./alert-settings.ts";
import { type AlertMessage, type DescribedMatter, type NameGateways, writeMessage } from "./alert-text.ts";
import { type AlertTopic, topicOf } from "./alerts.ts";
import { postToChat } from "./chat.ts";
import type { Egress } from "./egress.ts";
import { oldestUnaccepted } from "./recover-deliveries.ts";
import type { SealingContext } from "./signing-secrets.ts";

export type SendContext = SealingContext & {
  readonly database: Database;
  readonly runtime: Pick<Runtime, "now">;
  readonly log: Pick<Logger, "warn" | "error">;
  readonly egress: Pick<Egress, "post">;
  /** Undefined if the installation cannot send mail: alerts then only go to chats. */
  readonly mailer: Pick<Mailer, "send"> | undefined;
  /** Origin of the dashboard, for links; undefined if there is none. */
  readonly dashboardOrigin?: string | undefined;
  readonly nameGatewaysIn: NameGateways;
  /** Observes the result of each mail, for metrics. Must not throw. */
  readonly onHandover?: (kind: Handover["kind"]) => void;
};

type ClaimedAlert = DescribedMatter & {
  readonly tries: number;
  /** Addresses, and `chat`. */
  readonly recipients: readonly string[];
  readonly chatSealed: string | null;
  readonly mutedTopics: readonly AlertTopic[];
  readonly isPointless: boolean;
};

/** The name of a merchant's chat among its recipients. No mail address has this form. */
const chatRecipient = "chat";

const recipients = `s.confirmed_addresses || CASE WHEN s.alert_chat_sealed IS NULL THEN '{}' ELSE ARRAY['${chatRecipient}'] END`;

// Claims one alert at a time: the pause is both lease and retry time. An alert that ended before it was sent, or is too
// old, is not sent; neither is the end of an alert to a recipient who did not get its beginning.
const claimAlert: Statement = {
  name: "claim_alert_to_send",
  text: `WITH due AS (
           SELECT id FROM alert WHERE send_at <= (SELECT app.clock())
           ORDER BY send_at LIMIT 1 FOR UPDATE SKIP LOCKED
         ), claimed AS (
           UPDATE alert n
           SET send_attempts = n.send_attempts + 1,
               send_at = app.clock() + least(${alertRepeatLongestMs}, ${alertRepeatFirstMs} * 2 ^ n.send_attempts)
                 * interval '1 millisecond'
           FROM due WHERE n.id = due.id RETURNING n.*
         )
         SELECT n.id, n.merchant_id AS "merchantId", n.endpoint_id AS "endpointId", e.url, n.kind, n.gateway, n.detail,
           n.since, n.over_at AS "overAt", n.status_code AS "statusCode", n.no_answer AS "noAnswer",
           CASE WHEN n.detail IS NULL THEN least(n.since, ${oldestUnaccepted("n.endpoint_id", "n.since")}) END AS "missedSince",
           n.send_attempts AS tries, s.alert_chat_sealed AS "chatSealed",
           coalesce(s.muted_alerts, '{}') AS "mutedTopics",
           CASE WHEN n.over_at IS NOT NULL THEN n.over_at < app.clock() - ${alertNewsMs} * interval '1 millisecond'
             ELSE n.detail IS NULL AND (e.failing_since IS DISTINCT FROM n.since OR e.status = 'REMOVED')
               OR n.created_at < app.clock() - ${alertNewsMs} * interval '1 millisecond' END AS "isPointless",
           ARRAY(SELECT recipient FROM unnest(${recipients}) AS recipient
                 WHERE CASE WHEN n.over_at IS NOT NULL THEN recipient = ANY (n.sent_to) AND recipient <> ALL (n.end_sent_to)
                   ELSE recipient <> ALL (n.sent_to)
                     AND (SELECT count(*) FILTER (WHERE recipient = ANY (x.sent_to)) < ${alertMailsADay.addressMax}
                            AND coalesce(sum(cardinality(x.sent_to)), 0) < ${alertMailsADay.merchantMax}
                          FROM alert x
                          WHERE x.merchant_id = n.merchant_id AND x.created_at > app.clock() - interval '1 day') END
           ) AS recipients
         FROM claimed n LEFT JOIN endpoint e ON e.id = n.endpoint_id
           LEFT JOIN merchant_settings s ON s.merchant_id = n.merchant_id`,
};
const noteRecipient: Statement = {
  name: "note_recipient_of_alert",
  text: "UPDATE alert SET sent_to = sent_to || $2::text WHERE id = $1 AND $2 <> ALL (sent_to)",
};
const noteRecipientOfEnd: Statement = {
  name: "note_recipient_of_alerts_end",
  text: "UPDATE alert SET end_sent_to = end_sent_to || $2::text WHERE id = $1 AND $2 <> ALL (end_sent_to)",
};

// An alert that ended while its beginning was sent is due again for its end, whatever the result of the beginning.
const endSending: Statement = {
  name: "end_sending_of_alert",
  text: "UPDATE alert SET send_at = NULL WHERE id = $1 AND (over_at IS NOT NULL) = $2",
};

// Its pause stays: a mail in transit may have arrived.
const returnAttempt: Statement = {
  name: "return_attempt_of_alert",
  text: "UPDATE alert SET send_attempts = send_attempts - 1 WHERE id = $1 AND (over_at IS NOT NULL) = $2",
};

/**
 * Sends the next alert to those of its recipients that do not have it yet. Returns true when there may be more. A worker
 * that dies in between sends it again, under the same id. A temporary failure is retried after a pause; after the last
 * retry the alert is only in the list. An interruption by the worker's own shutdown does not count. Each address gets
 * only a few a day; further alerts are only in the list.
 */
export async function sendAlertsOnce(context: SendContext, closing?: AbortSignal): Promise<boolean> {
  const [alert] = await context.database.query<ClaimedAlert>(claimAlert, []);
  if (alert === undefined) return false;
  const isMuted = alert.mutedTopics.includes(topicOf(alert.kind));
  const outcome = alert.isPointless || isMuted ? "done" : await sendToAll(context, alert, closing);
  const phase = [alert.id, alert.overAt !== null];
  if (outcome === "interrupted") await context.database.query(returnAttempt, phase);
  else if (outcome === "done" || alert.tries >= alertAttemptsMax) await context.database.query(endSending, phase);
  return outcome === "done";
}

// Done: no recipient needs a retry. Interrupted: the worker closes, which says nothing about the recipient.
type Sending = "done" | "failed" | "interrupted";

/** Sends to all recipients. One that fails does not delay the others. */
async function sendToAll(context: SendContext, alert: ClaimedAlert, closing?: AbortSignal): Promise<Sending> {
  const { database } = context;
  const message = writeMessage(alert, context);
  const noted = alert.overAt === null ? noteRecipient : noteRecipientOfEnd;
  const mails: string[] = [];
  let chat: string | undefined;
  for (const to of alert.recipients) {
    if (to !== chatRecipient && context.mailer === undefined) continue;
    const handover =
      to === chatRecipient ? await post(context, alert, message) : await mail(context, to, message, closing);
    if (closing?.aborted && handover.kind !== "taken") return "interrupted";
    if (handover.kind === "taken") await database.query(noted, [alert.id, to]);
    else if (handover.kind === "failed" && to === chatRecipient) chat = handover.reason;
    else if (handover.kind === "failed") mails.push(handover.reason);
    else context.log.warn({ ...namesOf(alert), replyCode: handover.replyCode }, refusedAddress);
  }
  const fields = { ...namesOf(alert), tries: alert.tries };
  const isLast = alert.tries >= alertAttemptsMax;
  if (mails.length > 0) {
    const failed = { ...fields, reason: mails[0], addresses: mails.length };
    if (isLast) context.log.error(failed, "an alert could not be mailed and will not be retried");
    else context.log.warn(failed, "an alert could not be mailed and will be retried");
  }
  if (chat !== undefined) {
    // The chat is the merchant's, so its failure is no error of the installation.
    const failed = { ...fields, reason: chat };
    if (isLast) context.log.warn(failed, "an alert could not be posted to a chat and will not be retried");
    else context.log.warn(failed, "an alert could not be posted to a chat and will be retried");
  }
  return mails.length > 0 || chat !== undefined ? "failed" : "done";
}

const refusedAddress = "a mail server refused an address of an alert";
const namesOf = ({ id, merchantId }: ClaimedAlert) => ({
  alert: encodeId("ntc", id),
  merchant: encodeId("mer", merchantId),
});

async function mail(
  { mailer, onHandover }: SendContext,
  to: string,
  { id, subject, text }: AlertMessage,
  closing: AbortSignal | undefined,
): Promise<Handover> {
  const handover = await mailer!.send({ to, subject, text, id }, closing);
  if (!closing?.aborted || handover.kind === "taken") onHandover?.(handover.kind);
  return handover;
}

async function post(context: SendContext, alert: ClaimedAlert, message: AlertMessage): Promise<Handover> {
  const chat = openChat(context, alert.merchantId, alert.chatSealed!);
  const failure = await postToChat(context, chat, message);
  return failure === undefined ? { kind: "taken" } : { kind: "failed", reason: failure };
}
