/**
 * Mails endpoint alerts to the addresses that their merchant has set: at least once, each address separately,
 * independent of deliveries.
 */
import { alertAttemptsMax, alertMailsADay, alertNewsMs, alertRepeatFirstMs, alertRepeatLongestMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Handover, Mailer } from "../platform/mail.ts";
import { type DescribedAlert, writeAlert } from "./alert-text.ts";
import { oldestUnaccepted } from "./recover-deliveries.ts";

/** The dependencies of mailing alerts. */
export type MailContext = {
  readonly database: Database;
  readonly environmentName: string;
  readonly log: Pick<Logger, "warn" | "error">;
  readonly mailer: Pick<Mailer, "send">;
  /** Observes the result of each mail, for metrics. Must not throw. */
  readonly onHandover?: (kind: Handover["kind"]) => void;
};

type ClaimedAlert = DescribedAlert & {
  readonly tries: number;
  readonly addresses: readonly string[];
  readonly isPointless: boolean;
};

// One at a time: the pause is both lease and retry time. Alerts of an episode that is over, or too old, are not mailed.
const claimAlert: Statement = {
  name: "claim_alert_to_mail",
  text: `WITH due AS (
           SELECT id FROM endpoint_alert WHERE mail_at <= (SELECT app.clock())
           ORDER BY mail_at LIMIT 1 FOR UPDATE SKIP LOCKED
         )
         UPDATE endpoint_alert n
         SET mail_attempts = n.mail_attempts + 1,
             mail_at = app.clock() + least(${alertRepeatLongestMs}, ${alertRepeatFirstMs} * 2 ^ n.mail_attempts)
               * interval '1 millisecond'
         FROM due, endpoint e WHERE n.id = due.id AND e.id = n.endpoint_id
         RETURNING n.id, n.merchant_id AS "merchantId", n.endpoint_id AS "endpointId", e.url, n.kind,
           n.failing_since AS "failingSince", n.status_code AS "statusCode", n.no_answer AS "noAnswer",
           least(n.failing_since, ${oldestUnaccepted("n.endpoint_id", "n.failing_since")}) AS "missedSince",
           n.mail_attempts AS tries,
           e.failing_since IS DISTINCT FROM n.failing_since OR e.status = 'REMOVED'
             OR n.created_at < app.clock() - ${alertNewsMs} * interval '1 millisecond' AS "isPointless",
           ARRAY(SELECT address FROM merchant_settings s, unnest(s.alert_addresses) AS address
                 WHERE s.merchant_id = n.merchant_id AND address <> ALL (n.mailed_to)
                   AND (SELECT count(*) FILTER (WHERE address = ANY (x.mailed_to)) < ${alertMailsADay.addressMax}
                          AND coalesce(sum(cardinality(x.mailed_to)), 0) < ${alertMailsADay.merchantMax}
                        FROM endpoint_alert x
                        WHERE x.merchant_id = n.merchant_id AND x.created_at > app.clock() - interval '1 day')) AS addresses`,
};
const noteAddress: Statement = {
  name: "note_mailed_address",
  text: "UPDATE endpoint_alert SET mailed_to = mailed_to || $2::text WHERE id = $1 AND $2 <> ALL (mailed_to)",
};
const endMailing: Statement = {
  name: "end_mailing_of_alert",
  text: "UPDATE endpoint_alert SET mail_at = NULL WHERE id = $1",
};

// Its pause stays: a mail in transit may have arrived.
const returnAttempt: Statement = {
  name: "return_attempt_of_alert",
  text: "UPDATE endpoint_alert SET mail_attempts = mail_attempts - 1 WHERE id = $1",
};

/**
 * Mails the next alert to those of its addresses that do not have it yet. Returns true when there may be more. A worker
 * that dies in between mails an address again, under the same Message-ID. A temporary failure is retried after a pause;
 * after the last retry the alert is only in the list. An interruption by the worker's own shutdown does not count. No
 * address has confirmed that it wants alerts, so each gets only a few a day; further alerts are only in the list.
 */
export async function mailAlertsOnce(context: MailContext, closing?: AbortSignal): Promise<boolean> {
  const [alert] = await context.database.query<ClaimedAlert>(claimAlert, []);
  if (alert === undefined) return false;
  const outcome = alert.isPointless ? "done" : await mailToAll(context, alert, closing);
  if (outcome === "interrupted") await context.database.query(returnAttempt, [alert.id]);
  else if (outcome === "done" || alert.tries >= alertAttemptsMax) await context.database.query(endMailing, [alert.id]);
  return outcome === "done";
}

// Done: no address needs a retry. Interrupted: the worker closes, which says nothing about the mail server.
type Mailing = "done" | "failed" | "interrupted";

/** Mails to all addresses. One that fails does not delay the others. */
async function mailToAll(context: MailContext, alert: ClaimedAlert, closing?: AbortSignal): Promise<Mailing> {
  const { database, log, mailer, environmentName } = context;
  const named = { alert: encodeId("ntc", alert.id), merchant: encodeId("mer", alert.merchantId) };
  const text = writeAlert(alert, environmentName);
  const failures: string[] = [];
  for (const to of alert.addresses) {
    const handover = await mailer.send({ to, ...text, id: named.alert }, closing);
    if (closing?.aborted && handover.kind !== "taken") return "interrupted";
    context.onHandover?.(handover.kind);
    if (handover.kind === "taken") await database.query(noteAddress, [alert.id, to]);
    else if (handover.kind === "failed") failures.push(handover.reason);
    else log.warn({ ...named, replyCode: handover.replyCode }, "a mail server refused an address of an alert");
  }
  if (failures.length === 0) return "done";
  const failed = { ...named, reason: failures[0], addresses: failures.length, tries: alert.tries };
  if (alert.tries < alertAttemptsMax) log.warn(failed, "an alert could not be mailed and will be retried");
  else log.error(failed, "an alert could not be mailed and will not be retried");
  return "failed";
}
