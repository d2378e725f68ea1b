/**
 * Rate limits for members' actions with a cost for others: a number of calls of a kind in a period, across all
 * processes.
 */

import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MerchantId } from "../platform/ids.ts";
import { sha256 } from "../platform/secrets.ts";

const minute = 60_000;
const hour = 60 * minute;

// Rates of a member's actions that have a cost for others. Operators, who own the installation, are not limited.
const memberActions = {
  /** Webhooks and test calls to a server that may be a third party's: more than setting one up takes. */
  post: { callsMax: 20, windowMs: minute },
  /** Changes of mail addresses: a team that joins together, and addresses that are corrected. */
  mail: { callsMax: 30, windowMs: hour },
  /**
   * Mails to one mailbox that a person has caused: invitations of several merchants, confirmations and tests. Enough
   * for a day of setting up, and no flood for a person who did not request it.
   */
  mailbox: { callsMax: 20, windowMs: 24 * hour },
  /** This limit is for each merchant, so that none uses up a mailbox's mails for all others. */
  merchantMailbox: { callsMax: 5, windowMs: 24 * hour },
  /** Requests of one merchant to confirm an address for alerts, each an unsolicited mail: as many as invitations. */
  confirmation: { callsMax: 50, windowMs: 24 * hour },
  /** Password hashes of one sign-in: many times the proofs of a long day. */
  password: { callsMax: 30, windowMs: hour },
  /** Pages of a long read, some 100 ms each: reading one after the other never reaches the limit. */
  scan: { callsMax: 600, windowMs: minute },
  /** All other changes: enough for a recovery batch by batch, not for a flood. */
  change: { callsMax: 600, windowMs: minute },
} as const;

export type MemberAction = Exclude<keyof typeof memberActions, "mailbox" | "merchantMailbox" | "confirmation">;

const count: Statement = {
  name: "count_member_action",
  text: `INSERT INTO member_action AS a (subject, action, calls, window_ends)
         VALUES ($1, $2, 1, clock_timestamp() + $4 * interval '1 millisecond')
         ON CONFLICT (subject, action) DO UPDATE SET
           calls = CASE WHEN a.window_ends <= clock_timestamp() THEN 1 ELSE least(a.calls, $3) + 1 END,
           window_ends = CASE WHEN a.window_ends <= clock_timestamp() THEN excluded.window_ends ELSE a.window_ends END
         RETURNING calls > $3 AS "isTooMany",
           ceil(extract(epoch FROM window_ends - clock_timestamp()) * 1000)::integer AS "waitMs"`,
};

/** Counts a call of a member or of a sign-in. Throws `rate_limited` beyond the limit until the period is over. */
export async function countAction(accounts: Queryable, subject: string, action: MemberAction): Promise<void> {
  const seconds = await countOne(accounts, subject, action);
  if (seconds === undefined) return;
  const wait = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  throw new DomainError("rate_limited", `You have done this too often. Try again in ${wait}.`, {
    retryAfterMs: seconds * 1_000,
  });
}

export type CausedMail = { readonly merchantId: MerchantId; readonly address: string };

/**
 * Counts a mail. Throws `rate_limited` if its mailbox has received too many, of this merchant or of all. The merchant's
 * share is counted first, so that what it refuses takes nothing from the others.
 */
export async function countMailTo(accounts: Queryable, { merchantId, address }: CausedMail): Promise<void> {
  const mailbox = mailboxOf(address);
  const seconds =
    (await countOne(accounts, hashOf(`mailbox ${merchantId} ${mailbox}`), "merchantMailbox")) ??
    (await countOne(accounts, hashOf(`mailbox ${mailbox}`), "mailbox"));
  if (seconds !== undefined) throw tooManyToday("This mailbox has received too many mails today.", seconds);
}

/** Counts a merchant's request to confirm an address. Throws `rate_limited` beyond the day's limit. */
export async function countConfirmation(accounts: Queryable, merchantId: MerchantId): Promise<void> {
  const seconds = await countOne(accounts, merchantId, "confirmation");
  if (seconds !== undefined) {
    throw tooManyToday("This merchant has reached today's limit of requests to confirm an address.", seconds);
  }
}

function tooManyToday(what: string, seconds: number): DomainError {
  const retry = `Try again in ${Math.ceil(seconds / 3_600)} h.`;
  return new DomainError("rate_limited", `${what} ${retry}`, { retryAfterMs: seconds * 1_000 });
}

function hashOf(subject: string): string {
  return sha256(subject).toString("hex").slice(0, 32);
}

// Their servers ignore dots (https://support.google.com/mail/answer/7436150, 2026); others distinguish `a.b` from `ab`.
const dotlessDomains = ["gmail.com", "googlemail.com"];

/** Returns the mailbox of an address: without what follows a plus sign (RFC 5233), and in lower case. */
function mailboxOf(address: string): string {
  const [, local = "", domain = ""] = /^(.*)@(.*)$/s.exec(address.toLowerCase()) ?? [];
  const name = local.replace(/(?<=.)\+.*$/s, "");
  return dotlessDomains.includes(domain) ? `${name.replaceAll(".", "")}@gmail.com` : `${name}@${domain}`;
}

/** Counts a call. Returns the seconds until the next one is admitted if it is too many. */
async function countOne(
  accounts: Queryable,
  subject: string,
  action: keyof typeof memberActions,
): Promise<number | undefined> {
  const { callsMax, windowMs } = memberActions[action];
  const values = [subject, action, callsMax, windowMs];
  const [row] = await accounts.query<{ isTooMany: boolean; waitMs: number }>(count, values);
  return row?.isTooMany ? Math.max(1, Math.ceil(row.waitMs / 1_000)) : undefined;
}
