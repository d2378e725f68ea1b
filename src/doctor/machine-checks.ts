/** What this machine and the mail server have to give: room on the disk, and somebody who takes mail. */
import { statfs } from "node:fs/promises";
import { diskBytesLeast } from "../limits/doctor.ts";
import { Mailer } from "../platform/mail.ts";
import type { MailServer } from "../platform/mail-server.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

const mebibyte = 1024 ** 2;

/** Where a demo keeps its databases and its messages. */
export async function examineDisk(folder: string | undefined): Promise<Finding[]> {
  if (folder === undefined) return [];
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const says = `${Math.round(free / mebibyte)} MiB are free where ${folder} is`;
  const remedy = "make room: PostgreSQL and NATS stop on a full disk";
  if (free < diskBytesLeast.problem) return [problem("disk", says, remedy)];
  return [free < diskBytesLeast.warn ? warning("disk", says, remedy) : ok("disk", says)];
}

/** Whether the mail server lets us in; nothing where there is none. */
export async function examineMail(server: MailServer | undefined): Promise<Finding[]> {
  if (server === undefined) return [];
  const mailer = new Mailer(server);
  try {
    await mailer.verify();
    return [ok("mail", `${server.host}:${server.port} takes mail`)];
  } catch (error) {
    const remedy = "mend SWITCHYARD_SMTP_URL, or the server; notices and invitations wait or fail meanwhile";
    return [problem("mail", `${server.host}:${server.port} does not let us in: ${wordsOf(error)}`, remedy)];
  } finally {
    mailer.close();
  }
}
