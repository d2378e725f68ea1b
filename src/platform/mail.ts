/** Sends mail to an SMTP server, as text and as a page, within a time limit. Knows nothing of its content. */
import type { Transporter } from "nodemailer";
import { mailStepTimeoutMs, mailTimeoutMs } from "../limits.ts";
import { mailPage } from "./mail-page.ts";
import type { MailServer } from "./mail-server.ts";

export type Mail = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The same for each copy of a mail, so that a mailbox may show a single one. */
  readonly id: string;
};

/** The result of a mail: accepted, its address refused for good, or a retry may help. */
export type Handover =
  | { readonly kind: "taken" }
  | { readonly kind: "refused"; readonly replyCode: number }
  | { readonly kind: "failed"; readonly reason: string };

/** Sends mail through one server, with a connection for each: there are few. */
export class Mailer {
  readonly #from: string;
  readonly #server: MailServer;
  #opened: Promise<Transporter> | undefined;

  constructor(server: MailServer) {
    this.#from = server.from;
    this.#server = server;
  }

  /** Sends a mail. Never rejects. Ends by itself at the time limit, and at once on the signal. */
  async send({ to, subject, text, id }: Mail, closing?: AbortSignal): Promise<Handover> {
    const timeout = AbortSignal.timeout(mailTimeoutMs);
    try {
      const transport = await this.#transport();
      await transport.sendMail({
        // Addresses are objects: a text would be parsed as a list of addresses.
        from: { name: "", address: this.#from },
        to: { name: "", address: to },
        subject,
        text,
        html: mailPage({ subject, text }),
        messageId: `<${id}@${this.#from.slice(this.#from.lastIndexOf("@") + 1)}>`,
        // Prevents out-of-office answers (RFC 3834).
        headers: { "Auto-Submitted": "auto-generated" },
        signal: closing ? AbortSignal.any([closing, timeout]) : timeout,
      });
      return { kind: "taken" };
    } catch (error) {
      if (timeout.aborted) return { kind: "failed", reason: "the mail server took too long" };
      return classifyFailure(error as SmtpFailure);
    }
  }

  /** Connects and logs in, and sends nothing. Throws if the server refuses the login. */
  async verify(): Promise<void> {
    await (await this.#transport()).verify();
  }

  close(): void {
    void this.#opened?.then((transport) => transport.close());
  }

  #transport(): Promise<Transporter> {
    this.#opened ??= openTransport(this.#server);
    return this.#opened;
  }
}

/** The library is loaded for the first mail: most processes send none. */
async function openTransport({ host, port, tls, login }: MailServer): Promise<Transporter> {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    host,
    port,
    secure: tls === "from_start",
    requireTLS: tls === "required",
    ...(login && { auth: { user: login.user, pass: login.password.expose() } }),
    connectionTimeout: mailStepTimeoutMs,
    greetingTimeout: mailStepTimeoutMs,
    socketTimeout: mailStepTimeoutMs,
    dnsTimeout: mailStepTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

type SmtpFailure = Error & { readonly code?: string; readonly responseCode?: number; readonly command?: string };

// The messages of these codes come from Node and the library. Others may repeat the server's text, or the text that was
// sent to it.
const networkCodes = ["ESOCKET", "ECONNECTION", "ETIMEDOUT", "EDNS", "ETLS"];

function classifyFailure({ code = "unknown", responseCode, command, message }: SmtpFailure): Handover {
  if (responseCode === undefined) {
    const detail = networkCodes.includes(code) ? `: ${message}` : "";
    return { kind: "failed", reason: `the mail server could not be spoken to (${code}${detail})` };
  }
  if (command === "RCPT TO" && responseCode >= 500) return { kind: "refused", replyCode: responseCode };
  return { kind: "failed", reason: `the mail server answered ${responseCode} to ${command}` };
}
