/** A real SMTP server that keeps accepted mail, refuses what the test configures, and signals arrivals. */
import { EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export type ReceivedMail = {
  readonly from: string;
  readonly to: readonly string[];
  readonly source: string;
  /** Name in lower case and value, unfolded, in their order. */
  readonly headers: readonly (readonly [string, string])[];
  /** The body as a person reads it: the part that is text, and the one that is a page. */
  readonly text: string;
  readonly html: string;
  readonly overTls: boolean;
  readonly user: string | undefined;
};

/** A server's answer instead of success: a code to an address or to the mail, or silence. */
export type MailAnswer = {
  readonly addresses?: Readonly<Record<string, number>>;
  readonly mail?: number | "hang";
};

/** A required login, a certificate, and a fixed port. */
export type MailboxOptions = {
  readonly port?: number;
  readonly login?: { readonly user: string; readonly password: string };
  readonly tls?: { readonly cert: string; readonly key: string; readonly fromStart?: boolean };
};

// Longer than a test waits for anything, shorter than its own timeout.
const waitMs = 20_000;

/** A mail server on a loopback port. Make it with `Mailbox.start()` and close it at the test's end. */
export class Mailbox {
  readonly mails: ReceivedMail[] = [];
  #answer: MailAnswer = {};
  readonly #server: SMTPServer;
  readonly #arrivals = new EventEmitter();

  private constructor({ login, tls }: MailboxOptions) {
    this.#server = new SMTPServer({
      ...(tls && { cert: tls.cert, key: tls.key }),
      secure: tls?.fromStart ?? false,
      disabledCommands: [...(tls ? [] : ["STARTTLS"]), ...(login ? [] : ["AUTH"])],
      // The server accepts a password without TLS, so that only the client withholds its own.
      allowInsecureAuth: true,
      disableReverseLookup: true,
      onAuth: ({ username, password }, _session, done) =>
        username === login?.user && password === login?.password
          ? done(null, { user: username })
          : done(refusal(535, "Wrong password")),
      onRcptTo: ({ address }, _session, done) => {
        const code = this.#answer.addresses?.[address];
        done(code === undefined ? null : refusal(code, `Not for <${address}>`));
      },
      onData: async (stream, session, done) => {
        const source = await text(stream);
        const { mail } = this.#answer;
        if (typeof mail === "number") return done(refusal(mail, "Not this mail"));
        const { mailFrom, rcptTo } = session.envelope;
        this.mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source,
          ...readMail(source),
          overTls: session.secure,
          user: session.user,
        });
        this.#arrivals.emit("mail");
        if (mail !== "hang") done(null);
      },
    });
    // Clients that are killed cut their connections.
    this.#server.on("error", () => {});
  }

  static async start(options: MailboxOptions = {}): Promise<Mailbox> {
    const mailbox = new Mailbox(options);
    const listening = mailbox.#server.listen(options.port ?? 0, "127.0.0.1");
    await once(listening, "listening");
    return mailbox;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  answerWith(answer: MailAnswer): void {
    this.#answer = answer;
  }

  /** Returns the first `count` mails, past or future. */
  async waitForCount(count: number, withinMs = waitMs): Promise<readonly ReceivedMail[]> {
    const signal = AbortSignal.timeout(withinMs);
    while (this.mails.length < count) await once(this.#arrivals, "mail", { signal });
    return this.mails.slice(0, count);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#server.connections) connection.close();
    await closed;
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

type Headers = ReceivedMail["headers"];

function readPart(source: string): { headers: Headers; body: string } {
  const end = source.indexOf("\r\n\r\n");
  const headers = source
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const);
  return { headers, body: source.slice(end + 4) };
}

const headerOf = (headers: Headers, name: string) => headers.find(([each]) => each === name)?.[1] ?? "";

function readMail(source: string): Pick<ReceivedMail, "headers" | "text" | "html"> {
  const { headers, body } = readPart(source);
  const boundary = /boundary="([^"]+)"/.exec(headerOf(headers, "content-type"))?.[1];
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => readPart(part.replace(/^\r\n/, "")));
  const read = (type: string) => {
    const part = parts.find((each) => headerOf(each.headers, "content-type").startsWith(type));
    const written = part?.body.replace(/\r\n$/, "").replaceAll("\r\n", "\n") ?? "";
    const isEncoded = part && headerOf(part.headers, "content-transfer-encoding") === "quoted-printable";
    return isEncoded ? decodeQuotedPrintable(written) : written;
  };
  return { headers, text: read("text/plain"), html: read("text/html") };
}

function decodeQuotedPrintable(body: string): string {
  const bytes = body
    .replaceAll(/=\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
