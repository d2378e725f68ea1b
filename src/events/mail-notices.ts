/** Mails notices to the addresses that their merchant has set: at least once, each address by itself, beside all deliveries. */
import { noticeNewsMs, noticeRepeatFirstMs, noticeRepeatLongestMs, noticeTriesMax } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Handover, Mailer } from "../platform/mail.ts";
import { type ToldNotice, writeNotice } from "./notice-text.ts";
import { oldestUntaken } from "./recover-deliveries.ts";

/** What mailing works with. */
export type MailContext = {
  readonly database: Database;
  readonly environmentName: string;
  readonly log: Pick<Logger, "warn" | "error">;
  readonly mailer: Pick<Mailer, "send">;
  /** Is told what became of each mail, for figures. Must not throw. */
  readonly onHandover?: (kind: Handover["kind"]) => void;
};

type ClaimedNotice = ToldNotice & {
  readonly tries: number;
  readonly addresses: readonly string[];
  readonly isPointless: boolean;
};

// One at a time: the pause is lease and retry time in one. News of an episode that is over, or too old, is none.
const claimNotice: Statement = {
  name: "claim_notice_to_mail",
  text: `WITH due AS (
           SELECT id FROM endpoint_notice WHERE mail_at <= (SELECT app.clock())
           ORDER BY mail_at LIMIT 1 FOR UPDATE SKIP LOCKED
         )
         UPDATE endpoint_notice n
         SET mail_tries = n.mail_tries + 1,
             mail_at = app.clock() + least(${noticeRepeatLongestMs}, ${noticeRepeatFirstMs} * 2 ^ n.mail_tries)
               * interval '1 millisecond'
         FROM due, endpoint e WHERE n.id = due.id AND e.id = n.endpoint_id
         RETURNING n.id, n.merchant_id AS "merchantId", n.endpoint_id AS "endpointId", e.url, n.kind,
           n.failing_since AS "failingSince", n.status_code AS "statusCode", n.no_answer AS "noAnswer",
           least(n.failing_since, ${oldestUntaken("n.endpoint_id", "n.failing_since")}) AS "missedSince",
           n.mail_tries AS tries,
           e.failing_since IS DISTINCT FROM n.failing_since OR e.status = 'REMOVED'
             OR n.created_at < app.clock() - ${noticeNewsMs} * interval '1 millisecond' AS "isPointless",
           ARRAY(SELECT address FROM merchant_settings s, unnest(s.notice_addresses) AS address
                 WHERE s.merchant_id = n.merchant_id AND address <> ALL (n.mailed_to)) AS addresses`,
};
const noteAddress: Statement = {
  name: "note_mailed_address",
  text: "UPDATE endpoint_notice SET mailed_to = mailed_to || $2::text WHERE id = $1 AND $2 <> ALL (mailed_to)",
};
const endMailing: Statement = {
  name: "end_mailing_of_notice",
  text: "UPDATE endpoint_notice SET mail_at = NULL WHERE id = $1",
};

// Its pause stays: a mail that was on its way may have arrived.
const giveTryBack: Statement = {
  name: "give_try_of_notice_back",
  text: "UPDATE endpoint_notice SET mail_tries = mail_tries - 1 WHERE id = $1",
};

/**
 * Mails the notice whose turn it is to those of its addresses that do not have it yet; true when there may be more.
 * A worker that dies in between mails an address again, under the same Message-ID. What another try may help is tried
 * again after a pause; after the last try the notice stays in the list alone. A try that the worker's own end interrupts
 * is none.
 */
export async function mailNoticesOnce(context: MailContext, closing?: AbortSignal): Promise<boolean> {
  const [notice] = await context.database.query<ClaimedNotice>(claimNotice, []);
  if (notice === undefined) return false;
  const outcome = notice.isPointless ? "done" : await mailToAll(context, notice, closing);
  if (outcome === "interrupted") await context.database.query(giveTryBack, [notice.id]);
  else if (outcome === "done" || notice.tries >= noticeTriesMax) await context.database.query(endMailing, [notice.id]);
  return outcome === "done";
}

// Done: no address is worth another try. Interrupted: the worker closes, which says nothing of the mail server.
type Mailing = "done" | "failed" | "interrupted";

/** One address that fails does not keep the others waiting. */
async function mailToAll(context: MailContext, notice: ClaimedNotice, closing?: AbortSignal): Promise<Mailing> {
  const { database, log, mailer, environmentName } = context;
  const named = { notice: encodeId("ntc", notice.id), merchant: encodeId("mer", notice.merchantId) };
  const text = writeNotice(notice, environmentName);
  const failures: string[] = [];
  for (const to of notice.addresses) {
    const handover = await mailer.send({ to, ...text, id: named.notice }, closing);
    if (closing?.aborted && handover.kind !== "taken") return "interrupted";
    context.onHandover?.(handover.kind);
    if (handover.kind === "taken") await database.query(noteAddress, [notice.id, to]);
    else if (handover.kind === "failed") failures.push(handover.because);
    else log.warn({ ...named, replyCode: handover.replyCode }, "a mail server refuses an address of a notice");
  }
  if (failures.length === 0) return "done";
  const failed = { ...named, because: failures[0], addresses: failures.length, tries: notice.tries };
  if (notice.tries < noticeTriesMax) log.warn(failed, "a notice could not be mailed; it is tried again");
  else log.error(failed, "a notice could not be mailed, and is not tried again");
  return "failed";
}
