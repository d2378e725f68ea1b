import { Webhook } from "standardwebhooks";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { nameGatewaysIn } from "../dashboard/ui/parts/gateway-name.ts";
import { recordConfirmedAddresses } from "../dev/testing/confirmed-addresses.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Mailbox } from "../dev/testing/mailbox.ts";
import { openTestDatabase } from "../dev/testing/postgres.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { recordAlertChat, recordMutedTopics } from "../events/alert-settings.ts";
import { Egress } from "../events/egress.ts";
import { sendAlertsOnce } from "../events/send-alerts.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { encodeId } from "../platform/ids.ts";
import { Mailer } from "../platform/mail.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { storeSettled } from "./analytics/settled-rows.fixture.ts";
import { raiseAlertsOnce } from "./raise-alerts.ts";

const { owner, database } = await forFile(openTestDatabase);
const [mailbox, chat] = await Promise.all([forFile(() => Mailbox.start()), forFile(() => Receiver.start())]);
const egress = await forFile(() => new Egress({ httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32"] }));
let merchantId: string;
let chatSecret: Secret;
const log = { warn: vi.fn(), error: vi.fn() };

const context = () => ({
  database,
  log,
  egress,
  runtime: systemRuntime,
  environmentName: "test",
  sealing: { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } },
  signingSecretPrefix: "switchyard_test_whsec_",
  dashboardOrigin: "https://dashboard.example.com",
  nameGatewaysIn,
  connectorOf: () => undefined,
  mailer: new Mailer({
    host: "127.0.0.1",
    port: mailbox.port,
    tls: "if_offered",
    login: undefined,
    from: "pay@example.com",
  }),
});

beforeEach(async () => {
  await setClockAhead("0 seconds");
  await owner.query("DELETE FROM alert; DELETE FROM analytics_attempt; DELETE FROM merchant_settings");
  mailbox.mails.length = 0;
  chat.requests.length = 0;
  chat.answerWith({ status: 200 });
  merchantId = v7();
  await database.transaction(async (tx) => {
    const settings = { sessionLifetimeMs: 1_800_000, checkoutOrigins: [], statementDescriptor: null };
    await recordSettings(tx, { merchantId, publishableKey: `switchyard_test_pk_${merchantId}`, ...settings });
    await recordConfirmedAddresses(tx, merchantId, ["ops@example.com"]);
    ({ signingSecret: chatSecret } = await recordAlertChat(tx, context(), {
      merchantId,
      url: `${chat.url}/T0/s3cret`,
    }));
  });
});

const setClockAhead = (interval: string) =>
  owner.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT clock_timestamp() + interval ''${interval}'''`);
const raise = () => raiseAlertsOnce(context());
const send = async () => {
  while (await sendAlertsOnce(context()));
};
const subjects = () => mailbox.mails.map(({ headers }) => new Map(headers).get("subject"));
const texts = () => chat.requests.map(({ body }) => JSON.parse(body.toString()).text as string);
const openKinds = async () => {
  const { rows } = await owner.query("SELECT kind FROM alert WHERE over_at IS NULL ORDER BY kind");
  return rows.map(({ kind }) => kind);
};

/** Counts attempts of a period at Sandbox A: of a quarter of the last hour, or of a day two days ago. */
async function count(minutes: 15 | 1440, { approved, declined }: { approved: number; declined: number }) {
  const at =
    minutes === 15
      ? "date_bin('15 min', app.clock(), 'epoch')"
      : "date_trunc('day', app.clock(), 'UTC') - interval '2 days'";
  await owner.query(
    `INSERT INTO analytics_attempt (merchant_id, minutes, starts_at, gateway, currency, approved, hard_declined, soft_declined,
       fraud_declined, timeouts, gateway_errors, unknown, authentication_required, recovered, latency)
     VALUES ($1, $2, ${at}, 'SANDBOX_A', 'EUR', $3, 0, $4, 0, 0, 0, 0, 0, 0, 0)
     ON CONFLICT (merchant_id, minutes, starts_at, gateway, currency)
     DO UPDATE SET approved = excluded.approved, soft_declined = excluded.soft_declined`,
    [merchantId, minutes, approved, declined],
  );
}
const low = () => count(15, { approved: 5, declined: 20 });
const usual = () => count(15, { approved: 21, declined: 4 });

describe("an approval rate that is low", () => {
  beforeEach(() => count(1440, { approved: 850, declined: 150 }));

  it("is sent once when it begins and once when it is over, to mail and chat", async () => {
    await low();
    await Promise.all([raise(), raise(), raise()]);
    await Promise.all([send(), send()]);
    await raise();
    await send();
    expect(subjects()).toEqual(["[test] The approval rate at Sandbox A is low"]);
    const merchant = encodeId("mer", merchantId);
    expect(mailbox.mails[0]!.text).toContain(
      "Sandbox A approved 5 of the 25 attempts that it answered in the last hour. That is 20.0%, 85.0% in the 28 days before today (UTC).",
    );
    const link = `https://dashboard.example.com/test/${merchant}/analytics?gateway=SANDBOX_A`;
    expect(mailbox.mails[0]!.text).toContain(link);
    expect(texts()).toEqual([
      expect.stringMatching(/^\[test\] The approval rate at Sandbox A is low\. Sandbox A approved 5 /),
    ]);
    expect(texts()[0]).toContain(link);
    const [{ headers, body, path }] = chat.requests as [(typeof chat.requests)[number]];
    expect(path).toBe("/T0/s3cret");
    const signing = chatSecret.expose();
    const stock = new Webhook(signing.slice(signing.indexOf("whsec_")));
    expect(stock.verify(body.toString(), headers as Record<string, string>)).toEqual({ text: texts()[0] });
    expect(mailbox.mails[0]!.source).not.toContain("s3cret");

    // An address that did not get the beginning does not get the end.
    await database.transaction((tx) =>
      recordConfirmedAddresses(tx, merchantId, ["ops@example.com", "new@example.com"]),
    );
    await usual();
    await Promise.all([raise(), raise()]);
    await send();
    await send();
    expect(mailbox.mails.map(({ to }) => to.join())).toEqual(["ops@example.com", "ops@example.com"]);
    expect(subjects()[1]).toBe("[test] Over: The approval rate at Sandbox A is low");
    expect(texts()[1]).toMatch(/^\[test\] Over: /);
  });

  it("does not flood when it comes and goes", async () => {
    for (let turn = 0; turn < 5; turn++) {
      await low();
      await raise();
      await usual();
      await raise();
    }
    await send();
    const { rows } = await owner.query("SELECT count(*)::int AS alerts FROM alert");
    expect(rows).toEqual([{ alerts: 1 }]);
    // It was over before anything was sent.
    expect(subjects()).toEqual([]);
    await setClockAhead("61 minutes");
    await low();
    await raise();
    expect(await openKinds()).toEqual(["APPROVAL_RATE_LOW"]);
  });

  it("is over when the gateway is no longer called", async () => {
    await low();
    await raise();
    expect(await openKinds()).toEqual(["APPROVAL_RATE_LOW"]);
    await setClockAhead("2 hours");
    await raise();
    expect(await openKinds()).toEqual([]);
  });

  it("is shown and not sent while its topic is muted", async () => {
    await database.transaction((tx) => recordMutedTopics(tx, merchantId, ["APPROVAL_RATE"]));
    await low();
    await raise();
    await send();
    expect([await openKinds(), subjects(), texts()]).toEqual([["APPROVAL_RATE_LOW"], [], []]);
  });

  it("is posted again to a chat that failed, and mailed once", async () => {
    chat.answerWith({ status: 500 });
    await low();
    await raise();
    await send();
    expect(log.warn).toHaveBeenLastCalledWith(
      expect.objectContaining({ reason: "the chat answered HTTP 500", tries: 1 }),
      "an alert could not be posted to a chat and will be retried",
    );
    expect(JSON.stringify(log.warn.mock.calls)).not.toContain("s3cret");
    chat.answerWith({ status: 200 });
    await setClockAhead("6 minutes");
    await send();
    expect([mailbox.mails.length, chat.requests.length]).toEqual([1, 2]);
    const ids = chat.requests.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
  });
});

describe("a connection that gives no usable answers", () => {
  it("is unhealthy by its own attempts of the last hour, until it is no longer called", async () => {
    const [bad, good] = [v7(), v7()];
    for (const id of [bad, good]) {
      await owner.query(
        "INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1::uuid, $2, 'SANDBOX_A', $1::text)",
        [id, merchantId],
      );
    }
    const settledAt = new Date(Date.now() - 60_000).toISOString();
    const failed = {
      settledAt,
      status: "DEGRADED",
      attempts: [{ gateway: "SANDBOX_A", status: "FAILED", kind: "TIMEOUT" }],
    } as const;
    const paid = { settledAt, attempts: [{ gateway: "SANDBOX_A", status: "CAPTURED" }] } as const;
    await storeSettled(owner, merchantId, [...Array(6).fill(failed), ...Array(10).fill(paid)]);
    await owner.query(switchGuards("DISABLE"));
    await owner.query("UPDATE attempt SET connection_id = CASE status WHEN 'FAILED' THEN $1::uuid ELSE $2::uuid END", [
      bad,
      good,
    ]);
    await owner.query(switchGuards("ENABLE"));
    await owner.query(
      `INSERT INTO analytics_attempt SELECT $1, 15, date_bin('15 min', app.clock(), 'epoch'), 'SANDBOX_A', 'EUR', 10, 0, 0, 0, 6, 0, 0, 0, 0, 0`,
      [merchantId],
    );
    await raise();
    await send();
    const { rows } = await owner.query("SELECT connection_id, detail FROM alert WHERE over_at IS NULL");
    expect(rows).toEqual([
      {
        connection_id: bad,
        detail: "SANDBOX_A gave no usable answer to 6 of 6 attempts of the last hour. That is 100.0%.",
      },
    ]);
    expect(subjects()).toEqual(["[test] Sandbox A is unhealthy"]);
    await setClockAhead("2 hours");
    await raise();
    await send();
    expect(subjects()).toEqual(["[test] Sandbox A is unhealthy", "[test] Over: Sandbox A is unhealthy"]);
  });
});

describe("holds that end soon", () => {
  it("are one alert, which is over when each is captured or released", async () => {
    const hold = async (endsIn: string, lasts: string) => {
      const id = v7();
      await owner.query(
        `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, phase, lease_epoch,
           expires_at, submitted_at, manual_capture, held_at, held_until)
         VALUES ($1, $2, 100, 'EUR', 'o', 1, 'PROCESSING', 1, now(), now(), true,
           now() + $3::interval - $4::interval, now() + $3::interval)`,
        [id, merchantId, endsIn, lasts],
      );
      return id;
    };
    await owner.query(switchGuards("DISABLE"));
    // Neither in its last twelve hours, nor in its last quarter.
    await hold("13 hours", "7 days");
    await hold("5 hours", "6 hours");
    await raise();
    expect(await openKinds()).toEqual([]);
    const ending = [await hold("3 hours", "7 days"), await hold("5 hours", "5 days")];
    await raise();
    await raise();
    await send();
    expect(subjects()).toEqual(["[test] Holds are about to end"]);
    expect(mailbox.mails[0]!.text).toMatch(
      /2 payments are held and are not captured\. The first hold ends at .* UTC\./,
    );
    await owner.query("UPDATE payment_session SET capture_asked_at = now() WHERE id = $1", [ending[0]]);
    await raise();
    expect(await openKinds()).toEqual(["HOLDS_EXPIRING"]);
    await owner.query("UPDATE payment_session SET status = 'DECLINED', settled_at = now() WHERE id = ANY ($1)", [
      ending,
    ]);
    await owner.query(
      "UPDATE payment_session SET capture_asked_at = now() WHERE held_until < now() + interval '6 hours'",
    );
    await raise();
    await send();
    expect(subjects()).toEqual(["[test] Holds are about to end", "[test] Over: Holds are about to end"]);
    await owner.query(switchGuards("ENABLE"));
  });
});

describe("credentials of a gateway", () => {
  it("that wait for their verification for a day are an alert until they are verified", async () => {
    const id = v7();
    await owner.query("INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1, $2, 'STRIPE', 'main')", [
      id,
      merchantId,
    ]);
    await owner.query("INSERT INTO connection_credential (connection_id, version, sealed) VALUES ($1, 1, 'x')", [id]);
    await raise();
    expect(await openKinds()).toEqual([]);
    await setClockAhead("25 hours");
    await raise();
    expect(await openKinds()).toEqual(["GATEWAY_UNVERIFIED"]);
    await owner.query(
      "UPDATE connection_credential SET verified_at = now(); UPDATE connection SET credential_version = 1",
    );
    await raise();
    expect(await openKinds()).toEqual([]);
  });
});
