import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { recordNoticeAddresses } from "../accounts/notice-addresses.ts";
import { Database } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Mailer } from "../platform/mail.ts";
import { Mailbox } from "../testing/mailbox.ts";
import { Receiver } from "../testing/receiver.ts";
import { removeEndpoint } from "./change-endpoint.ts";
import { deliverOnce } from "./deliver.ts";
import { acknowledgeNotice, listNotices, raiseWarningsOnce } from "./endpoint-notices.ts";
import { enableEndpoint } from "./endpoint-status.ts";
import { fanOut } from "./fan-out.ts";
import { type MailContext, mailNoticesOnce } from "./mail-notices.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

const secretPath = "/hook/s3cret?token=hunter2";

let bed: EventsBed;
let receiver: Receiver;
let mailbox: Mailbox;
let mailer: Mailer;
let endpoint: Awaited<ReturnType<EventsBed["addEndpoint"]>>;
const log = { warn: vi.fn(), error: vi.fn() };
const onHandover = vi.fn();

beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  await bed.rows("DELETE FROM endpoint_notice");
  vi.clearAllMocks();
  [receiver, mailbox] = await Promise.all([Receiver.start(), Mailbox.start()]);
  mailer = mailerTo(mailbox.port);
  endpoint = await bed.addEndpoint({ merchantId: bed.context.entropy.uuid(), url: receiver.url + secretPath });
  await bed.change((tx) =>
    recordSettings(tx, {
      merchantId: endpoint.merchantId,
      sessionLifetimeMs: 1_800_000,
      checkoutOrigins: [],
      publishableKey: `switchyard_test_pk_${endpoint.merchantId}`,
    }),
  );
  return () => Promise.all([receiver.close(), mailbox.close()]);
});

const mailerTo = (port: number) =>
  new Mailer({ host: "127.0.0.1", port, tls: "if_offered", login: undefined, from: "pay@example.com" });
const mailOnce = (other: Partial<MailContext> = {}, closing?: AbortSignal) =>
  mailNoticesOnce({ ...bed.context, log, mailer, onHandover, ...other }, closing);
const mailTo = (...addresses: string[]) =>
  bed.change((tx) => recordNoticeAddresses(tx, endpoint.merchantId, addresses));
const cameTo = () => mailbox.mails.map(({ to }) => to.join());
const idsThatCame = () => mailbox.mails.map(({ headers }) => new Map(headers).get("message-id"));

async function post(): Promise<void> {
  const { sessionId } = await bed.tell({ merchantId: endpoint.merchantId });
  await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
  await deliverOnce(bed.context);
}

/** The endpoint is disabled, and there is a notice of it. */
async function answerGone(): Promise<void> {
  receiver.answerWith({ status: 410 });
  await post();
}

async function readNotice() {
  const [notice, ...others] = await listNotices(bed.context.database, {
    merchantId: endpoint.merchantId,
    includeAcknowledged: true,
    after: undefined,
    count: 20,
  });
  expect(others).toEqual([]);
  return notice!;
}

/** How long until the notice may be mailed again; null when that is over. */
async function readPause(): Promise<number | null> {
  const sql = "SELECT round(extract(epoch FROM mail_at - app.clock()) / 60)::int AS minutes FROM endpoint_notice";
  return (await bed.rows<{ minutes: number | null }>(sql))[0]!.minutes;
}

describe("mailNoticesOnce()", () => {
  it("mails each address by itself, once, however many workers look", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    await Promise.all([mailOnce(), mailOnce(), mailOnce(), mailOnce()]);
    expect(cameTo()).toEqual(["ada@example.com", "ops@example.com"]);
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBeNull();
    const noticeId = encodeId("ntc", (await readNotice()).id);
    expect(idsThatCame()).toEqual([`<${noticeId}@example.com>`, `<${noticeId}@example.com>`]);
    const [mail] = mailbox.mails;
    expect(new Map(mail!.headers).get("subject")).toBe(
      `[test] Webhook endpoint ${encodeId("we", endpoint.endpointId)} was disabled: it answered 410`,
    );
    expect(mail!.text).toContain(new URL(receiver.url).host);
    const [told] = await bed.rows<{ at: Date }>("SELECT created_at AS at FROM outbox_event WHERE merchant_id = $1", [
      endpoint.merchantId,
    ]);
    expect(mail!.text).toContain(` --since ${told!.at.toISOString()} `);
    for (const hidden of ["s3cret", "hunter2", endpoint.signingSecret.expose()]) {
      expect(mail!.source).not.toContain(hidden);
    }
  });

  it("has nothing to mail where nobody has named an address", async () => {
    await answerGone();
    expect(await mailOnce()).toBe(true);
    expect(await mailOnce()).toBe(false);
    expect(await readNotice()).toMatchObject({ kind: "DISABLED_GONE", acknowledgedAt: null });
  });

  it("lets an address that is refused for good go, without naming it in the log", async () => {
    await mailTo("gone@example.com", "ops@example.com");
    mailbox.answerWith({ addresses: { "gone@example.com": 550 } });
    await answerGone();
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com"]);
    expect(await readPause()).toBeNull();
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ replyCode: 550, merchant: encodeId("mer", endpoint.merchantId) }),
      "a mail server refuses an address of a notice",
    );
    expect(JSON.stringify(log.warn.mock.calls)).not.toContain("gone@");
    expect(onHandover.mock.calls).toEqual([["refused"], ["taken"]]);
  });

  it("tries an address again that may be taken later, and no other", async () => {
    await mailTo("later@example.com", "ops@example.com");
    mailbox.answerWith({ addresses: { "later@example.com": 450 } });
    await answerGone();
    expect(await mailOnce()).toBe(false);
    expect(cameTo()).toEqual(["ops@example.com"]);
    mailbox.answerWith({});
    await mailOnce();
    expect(cameTo()).toEqual(["ops@example.com"]);
    await bed.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com", "later@example.com"]);
  });

  it("waits ever longer for a server that is down, and mails when it is back", async () => {
    await mailTo("ops@example.com");
    await answerGone();
    const { port } = mailbox;
    await mailbox.close();
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBe(5);
    await bed.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBe(10);
    expect(log.warn).toHaveBeenLastCalledWith(
      expect.objectContaining({ because: expect.stringContaining("ECONNREFUSED"), tries: 2 }),
      "a notice could not be mailed; it is tried again",
    );
    mailbox = await Mailbox.start({ port });
    expect(await mailOnce()).toBe(false);
    await bed.setClockAhead("17 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com"]);
  });

  it("gives up within a night and a day, and says so", async () => {
    await mailTo("ops@example.com");
    mailbox.answerWith({ mail: 451 });
    await answerGone();
    const pauses: (number | null)[] = [];
    for (let minutes = 0; pauses.at(-1) !== null; minutes += pauses.at(-1)! + 1) {
      await bed.setClockAhead(`${minutes} minutes`);
      await mailOnce();
      pauses.push(await readPause());
    }
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, null]);
    expect(log.error).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ tries: 12, because: "the mail server answered 451 to DATA" }),
      "a notice could not be mailed, and is not tried again",
    );
    expect(await readNotice()).toMatchObject({ acknowledgedAt: null });
  });

  it("mails again what a worker had sent that died before it could note it, with the same Message-ID", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    const pool = new Pool({ ...bed.context.database.pool.options });
    const dying: MailContext["mailer"] = {
      async send(mail) {
        const handover = await mailer.send(mail);
        await pool.end();
        return handover;
      },
    };
    await expect(mailOnce({ database: new Database(pool), mailer: dying })).rejects.toThrow();
    expect(cameTo()).toEqual(["ada@example.com"]);
    expect(await mailOnce()).toBe(false);
    await bed.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ada@example.com", "ada@example.com", "ops@example.com"]);
    expect(new Set(idsThatCame()).size).toBe(1);
  });

  it("ends with its worker, says nothing of that, and leaves the notice to another one", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    // The try that it ends would have been the last one.
    await bed.rows("UPDATE endpoint_notice SET mail_tries = 11");
    mailbox.answerWith({ mail: "hang" });
    const closing = new AbortController();
    const turn = mailOnce({}, closing.signal);
    await mailbox.waitForCount(1);
    closing.abort();
    expect(await turn).toBe(false);
    expect([log.warn.mock.calls, log.error.mock.calls]).toEqual([[], []]);
    expect(await bed.rows("SELECT mail_tries FROM endpoint_notice")).toEqual([{ mail_tries: 11 }]);
    mailbox.answerWith({});
    await bed.setClockAhead("61 minutes");
    await mailOnce();
    expect(cameTo()).toEqual(["ada@example.com", "ada@example.com", "ops@example.com"]);
  });
});

describe("a notice that is no news any more", () => {
  beforeEach(() => mailTo("ops@example.com"));

  it.each<[string, () => Promise<unknown>]>([
    ["because its endpoint was enabled", () => bed.change((tx) => enableEndpoint(tx, endpoint))],
    ["because its endpoint was removed", () => bed.change((tx) => removeEndpoint(tx, endpoint))],
    ["because it is a day old", () => bed.setClockAhead("24 hours 1 minute")],
    [
      "because somebody has seen it",
      async () => acknowledgeNotice(bed.context.database, { ...endpoint, id: (await readNotice()).id, by: "ada" }),
    ],
  ])("is not mailed, %s", async (_because, happen) => {
    await answerGone();
    await happen();
    await mailOnce();
    expect(mailbox.mails).toEqual([]);
    expect(await readPause()).toBeNull();
  });

  it("is not mailed, because its endpoint has answered 2xx", async () => {
    receiver.answerWith({ status: 503 });
    for (let count = 0; count < 5; count++) await post();
    await bed.setClockAhead("25 hours");
    await raiseWarningsOnce({ ...bed.context, log });
    expect(await readNotice()).toMatchObject({ kind: "FAILING_24_HOURS", isOver: false });
    receiver.answerWith({ status: 204 });
    await post();
    await mailOnce();
    expect(mailbox.mails).toEqual([]);
    expect(await readPause()).toBeNull();
  });
});
