import { Pool } from "pg";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { recordAlertAddresses } from "../accounts/alert-addresses.ts";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { recordConfirmedAddresses } from "../dev/testing/confirmed-addresses.ts";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Mailbox } from "../dev/testing/mailbox.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { alertMailsADay } from "../limits.ts";
import { Database } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Mailer } from "../platform/mail.ts";
import { removeEndpoint } from "./change-endpoint.ts";
import { acknowledgeAlert, listAlerts, raiseWarningsOnce } from "./endpoint-alerts.ts";
import { enableEndpoint } from "./endpoint-status.ts";
import { type SendContext, sendAlertsOnce } from "./send-alerts.ts";

const secretPath = "/hook/s3cret?token=hunter2";

let receiver: Receiver;
let mailbox: Mailbox;
let mailer: Mailer;
let endpoint: Awaited<ReturnType<EventsHarness["addEndpoint"]>>;
const log = { warn: vi.fn(), error: vi.fn() };
const onHandover = vi.fn();

const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("DELETE FROM alert");
  vi.clearAllMocks();
  [receiver, mailbox] = await Promise.all([Receiver.start(), Mailbox.start()]);
  mailer = mailerTo(mailbox.port);
  endpoint = await harness.addEndpoint({ merchantId: harness.context.runtime.uuid(), url: receiver.url + secretPath });
  await harness.change((tx) =>
    recordSettings(tx, {
      merchantId: endpoint.merchantId,
      sessionLifetimeMs: 1_800_000,
      checkoutOrigins: [],
      publishableKey: `switchyard_test_pk_${endpoint.merchantId}`,
      statementDescriptor: null,
    }),
  );
  return () => Promise.all([receiver.close(), mailbox.close()]);
});

const mailerTo = (port: number) =>
  new Mailer({ host: "127.0.0.1", port, tls: "if_offered", login: undefined, from: "pay@example.com" });
const mailOnce = (other: Partial<SendContext> = {}, closing?: AbortSignal) =>
  sendAlertsOnce({ ...harness.context, log, mailer, nameGatewaysIn: (text) => text, onHandover, ...other }, closing);
const mailTo = (...addresses: string[]) =>
  harness.change((tx) => recordConfirmedAddresses(tx, endpoint.merchantId, addresses));
const cameTo = () => mailbox.mails.map(({ to }) => to.join());
const idsThatCame = () => mailbox.mails.map(({ headers }) => new Map(headers).get("message-id"));

async function post(): Promise<void> {
  const { sessionId } = await harness.emit({ merchantId: endpoint.merchantId });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
  await deliverOnce(harness.context);
}

/** Makes the endpoint answer 410, so it is disabled and has an alert. */
async function answerGone(): Promise<void> {
  receiver.answerWith({ status: 410 });
  await post();
}

async function readAlert() {
  const [alert, ...others] = await listAlerts(harness.context.database, {
    merchantId: endpoint.merchantId,
    includeAcknowledged: true,
    after: undefined,
    count: 20,
  });
  expect(others).toEqual([]);
  return alert!;
}

/** Returns the time until the alert may be mailed again; null when that has passed. */
async function readPause(): Promise<number | null> {
  const sql = "SELECT round(extract(epoch FROM send_at - app.clock()) / 60)::int AS minutes FROM alert";
  return (await harness.rows<{ minutes: number | null }>(sql))[0]!.minutes;
}

describe("sendAlertsOnce()", () => {
  it("mails each address separately, once, however many workers run", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    await Promise.all([mailOnce(), mailOnce(), mailOnce(), mailOnce()]);
    expect(cameTo()).toEqual(["ada@example.com", "ops@example.com"]);
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBeNull();
    const alertId = encodeId("ntc", (await readAlert()).id);
    expect(idsThatCame()).toEqual([`<${alertId}@example.com>`, `<${alertId}@example.com>`]);
    const [mail] = mailbox.mails;
    expect(new Map(mail!.headers).get("subject")).toBe(
      `[test] Webhook endpoint ${encodeId("we", endpoint.endpointId)} was disabled: it answered 410`,
    );
    expect(mail!.text).toContain(new URL(receiver.url).host);
    const [event] = await harness.rows<{ at: Date }>(
      "SELECT created_at AS at FROM outbox_event WHERE merchant_id = $1",
      [endpoint.merchantId],
    );
    expect(mail!.text).toContain(`"since": "${event!.at.toISOString()}"`);
    for (const hidden of ["s3cret", "hunter2", endpoint.signingSecret.expose()]) {
      expect(mail!.source).not.toContain(hidden);
    }
  });

  it("mails nothing when no address is set", async () => {
    await answerGone();
    expect(await mailOnce()).toBe(true);
    expect(await mailOnce()).toBe(false);
    expect(await readAlert()).toMatchObject({ kind: "DISABLED_GONE", acknowledgedAt: null });
  });

  it("mails nothing to an address that has not confirmed", async () => {
    await harness.change((tx) => recordAlertAddresses(tx, endpoint.merchantId, ["stranger@example.com"]));
    await answerGone();
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual([]);
  });

  it("gives up a permanently refused address, without naming it in the log", async () => {
    await mailTo("gone@example.com", "ops@example.com");
    mailbox.answerWith({ addresses: { "gone@example.com": 550 } });
    await answerGone();
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com"]);
    expect(await readPause()).toBeNull();
    expect(log.warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ replyCode: 550, merchant: encodeId("mer", endpoint.merchantId) }),
      "a mail server refused an address of an alert",
    );
    expect(JSON.stringify(log.warn.mock.calls)).not.toContain("gone@");
    expect(onHandover.mock.calls).toEqual([["refused"], ["taken"]]);
  });

  it("retries an address that is temporarily refused, and no other", async () => {
    await mailTo("later@example.com", "ops@example.com");
    mailbox.answerWith({ addresses: { "later@example.com": 450 } });
    await answerGone();
    expect(await mailOnce()).toBe(false);
    expect(cameTo()).toEqual(["ops@example.com"]);
    mailbox.answerWith({});
    await mailOnce();
    expect(cameTo()).toEqual(["ops@example.com"]);
    await harness.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com", "later@example.com"]);
  });

  it("waits with growing pauses for a server that is down, and mails when it is back", async () => {
    await mailTo("ops@example.com");
    await answerGone();
    const { port } = mailbox;
    await mailbox.close();
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBe(5);
    await harness.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(false);
    expect(await readPause()).toBe(10);
    expect(log.warn).toHaveBeenLastCalledWith(
      expect.objectContaining({ reason: expect.stringContaining("ECONNREFUSED"), tries: 2 }),
      "an alert could not be mailed and will be retried",
    );
    mailbox = await Mailbox.start({ port });
    expect(await mailOnce()).toBe(false);
    await harness.setClockAhead("17 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ops@example.com"]);
  });

  it("gives up within a night and a day, and logs it", async () => {
    await mailTo("ops@example.com");
    mailbox.answerWith({ mail: 451 });
    await answerGone();
    const pauses: (number | null)[] = [];
    for (let minutes = 0; pauses.at(-1) !== null; minutes += pauses.at(-1)! + 1) {
      await harness.setClockAhead(`${minutes} minutes`);
      await mailOnce();
      pauses.push(await readPause());
    }
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, null]);
    expect(log.error).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ tries: 12, reason: "the mail server answered 451 to DATA" }),
      "an alert could not be mailed and will not be retried",
    );
    expect(await readAlert()).toMatchObject({ acknowledgedAt: null });
  });

  it("mails an alert again, with the same Message-ID, when a worker died before recording it", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    const pool = new Pool({ ...harness.context.database.pool.options });
    const dying: SendContext["mailer"] = {
      async send(mail) {
        const handover = await mailer.send(mail);
        await pool.end();
        return handover;
      },
    };
    await expect(mailOnce({ database: new Database(pool), mailer: dying })).rejects.toThrow();
    expect(cameTo()).toEqual(["ada@example.com"]);
    expect(await mailOnce()).toBe(false);
    await harness.setClockAhead("6 minutes");
    expect(await mailOnce()).toBe(true);
    expect(cameTo()).toEqual(["ada@example.com", "ada@example.com", "ops@example.com"]);
    expect(new Set(idsThatCame()).size).toBe(1);
  });

  it("ends with its worker, logs nothing, and leaves the alert to another one", async () => {
    await mailTo("ada@example.com", "ops@example.com");
    await answerGone();
    // The interrupted attempt would have been the last one.
    await harness.rows("UPDATE alert SET send_attempts = 11");
    mailbox.answerWith({ mail: "hang" });
    const closing = new AbortController();
    const turn = mailOnce({}, closing.signal);
    await mailbox.waitForCount(1);
    closing.abort();
    expect(await turn).toBe(false);
    expect([log.warn.mock.calls, log.error.mock.calls]).toEqual([[], []]);
    expect(await harness.rows("SELECT send_attempts FROM alert")).toEqual([{ send_attempts: 11 }]);
    mailbox.answerWith({});
    await harness.setClockAhead("61 minutes");
    await mailOnce();
    expect(cameTo()).toEqual(["ada@example.com", "ada@example.com", "ops@example.com"]);
  });
});

describe("an alert that is outdated", () => {
  beforeEach(() => mailTo("ops@example.com"));

  it.each<[string, () => Promise<unknown>]>([
    ["reason its endpoint was enabled", () => harness.change((tx) => enableEndpoint(tx, endpoint))],
    ["reason its endpoint was removed", () => harness.change((tx) => removeEndpoint(tx, endpoint))],
    ["reason it is a day old", () => harness.setClockAhead("24 hours 1 minute")],
    [
      "reason a member has acknowledged it",
      async () => acknowledgeAlert(harness.context.database, { ...endpoint, id: (await readAlert()).id, by: "ada" }),
    ],
  ])("is not mailed, %s", async (_because, happen) => {
    await answerGone();
    await happen();
    await mailOnce();
    expect(mailbox.mails).toEqual([]);
    expect(await readPause()).toBeNull();
  });

  it("is mailed only a limited number of times a day to an address, and to all of a merchant's", async () => {
    const mailed = (count: number, addresses: string[]) =>
      harness.rows(
        `INSERT INTO alert (id, merchant_id, endpoint_id, kind, since, send_at, sent_to)
         SELECT gen_random_uuid(), '${endpoint.merchantId}', '${endpoint.endpointId}', 'DISABLED_GONE',
           app.clock() - (each || ' minutes')::interval, NULL, '{${addresses.join(",")}}'
         FROM generate_series(1, ${count}) AS each`,
      );
    await mailTo("often@example.com", "seldom@example.com");
    await mailed(alertMailsADay.addressMax, ["often@example.com"]);
    await answerGone();
    await mailOnce();
    expect(cameTo()).toEqual(["seldom@example.com"]);
    expect(await harness.rows("SELECT 1 FROM alert WHERE send_at IS NOT NULL")).toEqual([]);
    // Uses up the merchant's limit with other addresses, and makes the same alert due again.
    const others = Array.from(
      { length: alertMailsADay.merchantMax / alertMailsADay.addressMax },
      (_, at) => `${at}@x.example`,
    );
    await harness.rows(`UPDATE alert SET sent_to = '{${others.join(",")}}' WHERE status_code IS NULL`);
    await harness.rows("UPDATE alert SET sent_to = '{}', send_at = app.clock() WHERE status_code IS NOT NULL");
    await mailOnce();
    expect(cameTo()).toEqual(["seldom@example.com"]);
  });

  it("is not mailed, because its endpoint has answered 2xx", async () => {
    receiver.answerWith({ status: 503 });
    for (let count = 0; count < 5; count++) await post();
    await harness.setClockAhead("25 hours");
    await raiseWarningsOnce({ ...harness.context, log });
    expect(await readAlert()).toMatchObject({ kind: "FAILING_24_HOURS", isOver: false });
    receiver.answerWith({ status: 204 });
    await post();
    await mailOnce();
    expect(mailbox.mails).toEqual([]);
    expect(await readPause()).toBeNull();
  });
});
