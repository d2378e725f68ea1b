/** Checks this machine and the mail server: room on the disk, and a mail server that accepts mail. */
import { statfs } from "node:fs/promises";
import { Mailer } from "../platform/mail.ts";
import type { MailServer } from "../platform/mail-server.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

const mebibyte = 1024 ** 2;

// Least free disk space: `warn` has room for a day's events and a week's log; `problem` is close to a full disk, on
// which a server stops.
const diskBytesMin = { warn: 1_024 * mebibyte, problem: 100 * mebibyte } as const;

export async function examineDisk(folder: string | undefined): Promise<Finding[]> {
  if (folder === undefined) return [];
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const says = `${Math.round(free / mebibyte)} MiB are free on the disk of ${folder}`;
  const remedy = "free some space: PostgreSQL and NATS stop when the disk is full";
  if (free < diskBytesMin.problem) return [problem("disk", says, remedy)];
  return [free < diskBytesMin.warn ? warning("disk", says, remedy) : ok("disk", says)];
}

/** Checks the login at the mail server; returns nothing if there is none. */
export async function examineMail(server: MailServer | undefined): Promise<Finding[]> {
  if (server === undefined) return [];
  const mailer = new Mailer(server);
  try {
    await mailer.verify();
    return [ok("mail", `${server.host}:${server.port} accepts mail`)];
  } catch (error) {
    const remedy = "correct SWITCHYARD_SMTP_URL, or fix the server; until then alerts wait and invitations fail";
    return [
      problem("mail", `${server.host}:${server.port} refuses the connection or the login: ${wordsOf(error)}`, remedy),
    ];
  } finally {
    mailer.close();
  }
}
