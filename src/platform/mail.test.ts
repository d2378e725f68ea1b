import { createServer } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { colors } from "../brand.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { Mailbox, type MailboxOptions } from "../dev/testing/mailbox.ts";
import { Mailer } from "./mail.ts";
import type { MailServer } from "./mail-server.ts";
import { Secret } from "./secrets.ts";

const login = { user: "ops", password: "hunter2 & more" };
const mail = { to: "ada@example.com", subject: "Hello", text: "First line.\n\nThird line.\n", id: "ntc_1" };

let mailbox: Mailbox;
const open: { close(): unknown }[] = [];
beforeEach(async () => {
  mailbox = await openMailbox();
});
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));

async function openMailbox(options: MailboxOptions = {}): Promise<Mailbox> {
  const opened = await Mailbox.start(options);
  open.push(opened);
  return opened;
}

function mailerTo(port: number, how: { tls?: MailServer["tls"]; withLogin?: boolean } = {}): Mailer {
  const mailer = new Mailer({
    host: "127.0.0.1",
    port,
    tls: how.tls ?? "if_offered",
    login: how.withLogin ? { user: login.user, password: new Secret(login.password) } : undefined,
    from: "switchyard@pay.example.com",
  });
  open.push(mailer);
  return mailer;
}

async function openTalker(answers: (line: string) => string | undefined): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    const greeting = answers("");
    if (greeting) socket.write(greeting);
    socket.on("data", (bytes) => {
      for (const line of bytes.toString().split("\r\n").filter(Boolean)) {
        heard.push(line);
        const answer = answers(line);
        if (answer) socket.write(answer);
      }
    });
    open.push({ close: () => socket.destroy() });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => server.close() });
  return { port: (server.address() as { port: number }).port, heard };
}

describe("Mailer", () => {
  it("sends one mail to one address, as text and as a page, and requests no automatic reply", async () => {
    expect(await mailerTo(mailbox.port).send(mail)).toEqual({ kind: "taken" });
    const [came] = mailbox.mails;
    expect(came).toMatchObject({ from: "switchyard@pay.example.com", to: ["ada@example.com"], text: mail.text });
    expect(Object.fromEntries(came!.headers)).toMatchObject({
      from: "switchyard@pay.example.com",
      to: "ada@example.com",
      subject: "Hello",
      "message-id": "<ntc_1@pay.example.com>",
      "auto-submitted": "auto-generated",
      "content-type": expect.stringMatching(/^multipart\/alternative/),
    });
  });

  it("makes a page of the text in the colours of the product, in which no name is markup or a link", async () => {
    const text = "Eve <b>Shop</b> https://evil.example asks:\n\nhttps://pay.example/a?b=1&c=2\n";
    await mailerTo(mailbox.port).send({ ...mail, text });
    const { html = "" } = mailbox.mails[0] ?? {};
    expect(html.match(/<a [^>]*>/g)).toEqual(['<a href="https://pay.example/a?b=1&#38;c=2">']);
    expect(html).toContain("Eve &#60;b&#62;Shop&#60;/b&#62; https://evil.example asks:");
    expect(html).toContain(`header, a { color: ${colors.accent[0]}; }`);
    expect(html).toContain(`header, a { color: ${colors.accent[1]}; }`);
  });

  it("distinguishes an address that is refused permanently from one that is worth a retry", async () => {
    mailbox.answerWith({ addresses: { "gone@example.com": 550, "later@example.com": 450 } });
    const mailer = mailerTo(mailbox.port);
    expect(await mailer.send({ ...mail, to: "gone@example.com" })).toEqual({ kind: "refused", replyCode: 550 });
    expect(await mailer.send({ ...mail, to: "later@example.com" })).toEqual({
      kind: "failed",
      reason: "the mail server answered 450 to RCPT TO",
    });
    expect(await mailer.send(mail)).toEqual({ kind: "taken" });
  });

  it("reports by codes alone what the server did not accept", async () => {
    mailbox.answerWith({ mail: 554 });
    expect(await mailerTo(mailbox.port).send(mail)).toEqual({
      kind: "failed",
      reason: "the mail server answered 554 to DATA",
    });
    const { port } = mailbox;
    await mailbox.close();
    open.splice(open.indexOf(mailbox), 1);
    expect(await mailerTo(port).send(mail)).toEqual({
      kind: "failed",
      reason: `the mail server could not be spoken to (ESOCKET: connect ECONNREFUSED 127.0.0.1:${port})`,
    });
  });

  it("ends at once on the signal, however silent the server is", async () => {
    const { port } = await openTalker(() => undefined);
    const closing = new AbortController();
    const sending = mailerTo(port).send(mail, closing.signal);
    closing.abort();
    expect(await sending).toMatchObject({ kind: "failed" });
    expect(await mailerTo(mailbox.port).send(mail, closing.signal)).toMatchObject({ kind: "failed" });
    expect(mailbox.mails).toEqual([]);
  });

  it.each([
    { ...mail, to: "ada@example.com\r\nBcc: eve@example.com" },
    { ...mail, to: "ada@example.com>\r\nRCPT TO:<eve@example.com" },
    { ...mail, to: "ada@example.com, eve@example.com" },
    { ...mail, subject: "Hello\r\nBcc: eve@example.com\r\n\r\nBody" },
    { ...mail, id: "ntc_1@x>\r\nBcc: eve@example.com" },
    { ...mail, text: "Hello\r\n.\r\nMAIL FROM:<eve@example.com>\r\nRCPT TO:<eve@example.com>\r\n" },
  ])("keeps input from becoming another address, header or mail: %j", async (hostile) => {
    await mailerTo(mailbox.port).send(hostile);
    expect(mailbox.mails.length).toBeLessThanOrEqual(1);
    for (const came of mailbox.mails) {
      expect(came.to).toHaveLength(1);
      expect(came.to).not.toContain("eve@example.com");
      expect(came.headers.map(([name]) => name)).not.toContain("bcc");
      expect(came.from).toBe("switchyard@pay.example.com");
    }
  });
});

describe("a password", () => {
  const defaults = getCACertificates("default");
  const authority = new TestAuthority("Post office");
  const certificate = authority.issue("mail");
  beforeAll(() => setDefaultCACertificates([...defaults, authority.cert]));
  afterAll(() => {
    setDefaultCACertificates(defaults);
    authority.close();
  });

  it("is sent over TLS, after STARTTLS and from the start", async () => {
    const upgraded = await openMailbox({ login, tls: certificate });
    const secure = await openMailbox({ login, tls: { ...certificate, fromStart: true } });
    const taken = { kind: "taken" };
    expect(await mailerTo(upgraded.port, { tls: "required", withLogin: true }).send(mail)).toEqual(taken);
    expect(await mailerTo(secure.port, { tls: "from_start", withLogin: true }).send(mail)).toEqual(taken);
    expect([...upgraded.mails, ...secure.mails]).toMatchObject([
      { overTls: true, user: "ops" },
      { overTls: true, user: "ops" },
    ]);
  });

  it("is not sent if TLS is not offered, was removed from the offer, or fails", async () => {
    const offers = { "": "220 mail\r\n", EHLO: "250-mail\r\n250 AUTH PLAIN LOGIN\r\n", STARTTLS: "502 no\r\n" };
    const talker = await openTalker((line) => offers[line.split(" ")[0] as keyof typeof offers] ?? "500 what\r\n");
    expect(await mailerTo(talker.port, { tls: "required", withLogin: true }).send(mail)).toMatchObject({
      kind: "failed",
    });
    expect(talker.heard.map((line) => line.split(" ")[0])).toEqual(["EHLO", "STARTTLS"]);
    const stranger = new TestAuthority("Stranger");
    const impostor = await openMailbox({ login, tls: stranger.issue("mail") });
    stranger.close();
    expect(await mailerTo(impostor.port, { tls: "required", withLogin: true }).send(mail)).toMatchObject({
      kind: "failed",
    });
    expect(impostor.mails).toEqual([]);
  });

  it("that is wrong is a failure that does not repeat it", async () => {
    const strict = await openMailbox({ login: { user: "ops", password: "another" }, tls: certificate });
    const failed = await mailerTo(strict.port, { tls: "required", withLogin: true }).send(mail);
    expect(failed).toMatchObject({ kind: "failed", reason: expect.stringContaining("535") });
    expect(JSON.stringify(failed)).not.toContain("hunter2");
  });
});
