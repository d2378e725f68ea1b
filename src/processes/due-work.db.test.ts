import { expect, it, onTestFinished } from "vitest";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { type DueLoop, wakeDue } from "./due-work.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);
const session = await fixture.newSession();
await fixture.submit(session, cards.approved);
await Promise.all(fixture.core.inFlight);
const paid: string = session.id;
await fixture.asOwner.pool.query("DELETE FROM event_todo");

const change = (text: string) => fixture.asOwner.pool.query(text);
const loopNames: readonly DueLoop[] = [
  ...(["recover", "expire", "notifications", "orphans", "refunds", "brake"] as const),
  ...(["save-cards", "erase-cards"] as const),
  ...(["event-republish", "event-sweep", "deliveries"] as const),
];

async function woken(): Promise<string[]> {
  const found: string[] = [];
  const loops = Object.fromEntries(loopNames.map((name) => [name, { wake: () => found.push(name) }]));
  await wakeDue(fixture.core.database, loops as unknown as Record<DueLoop, { wake(): void }>);
  return found;
}

const event = (fannedOut: boolean, dueAt: string) =>
  change(`INSERT INTO event_todo (session_id, sequence, created_at, fanned_out, due_at)
    SELECT session_id, sequence, created_at, ${fannedOut}, ${dueAt} FROM outbox_event WHERE session_id = '${paid}' LIMIT 1`);
const past = "app.clock() - interval '1 s'";
const future = "app.clock() + interval '10 s'";
const ids = (table: string) => `(SELECT id FROM ${table} ORDER BY id LIMIT 1)`;

// How each kind of work becomes due, and how it is over.
const work: Record<DueLoop, { begin: (at: string) => Promise<unknown>; end: string }> = {
  recover: {
    begin: async (at) => {
      const { id } = await fixture.newSession();
      await change(`${switchGuards("DISABLE")}; UPDATE payment_session SET phase = 'PROCESSING', lease_until = ${at}, lease_epoch = 1,
        submitted_at = app.clock(), submit_deadline = app.clock() WHERE id = '${id}'; ${switchGuards("ENABLE")}`);
    },
    end: `${switchGuards("DISABLE")}; UPDATE payment_session SET phase = 'DONE', status = 'DEGRADED' WHERE phase = 'PROCESSING'; ${switchGuards("ENABLE")}`,
  },
  expire: {
    begin: async (at) => {
      const { id } = await fixture.newSession();
      await change(
        `${switchGuards("DISABLE")}; UPDATE payment_session SET expires_at = ${at} WHERE id = '${id}'; ${switchGuards("ENABLE")}`,
      );
    },
    end: `${switchGuards("DISABLE")}; UPDATE payment_session SET phase = 'DONE', status = 'EXPIRED' WHERE phase = 'IDLE'; ${switchGuards("ENABLE")}`,
  },
  notifications: {
    begin: (at) =>
      change(`INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, next_try_at)
        SELECT id, 'n-' || random(), 'held', 'x', 'x', ${at} FROM connection LIMIT 1`),
    end: "UPDATE gateway_notification SET processed_at = app.clock()",
  },
  orphans: {
    begin: (at) =>
      change(`INSERT INTO orphaned_authorization (session_id, attempt_id, gateway_reference, found_by, next_retry_at)
        VALUES ('${paid}', gen_random_uuid(), 'x', 'reconciliation', ${at})`),
    end: "UPDATE orphaned_authorization SET ended_at = app.clock(), outcome = 'GONE', next_retry_at = NULL WHERE ended_at IS NULL",
  },
  refunds: {
    begin: async (at) => {
      const asked = { amountMinor: 1, refundRef: undefined, reason: undefined };
      await requestRefund(fixture.core, {
        ...asked,
        sessionId: paid,
        merchantId: fixture.owner.merchantId,
        key: "one",
      });
      await Promise.all(fixture.core.inFlight);
      await change(`UPDATE refund SET next_try_at = ${at}`);
    },
    end: "UPDATE refund SET next_try_at = NULL",
  },
  brake: {
    begin: (at) =>
      change(`INSERT INTO tested_payment VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${at})`),
    end: "DELETE FROM tested_payment",
  },
  "save-cards": {
    begin: async (at) => {
      const { id } = await fixture.newSession({ customerRef: "customer-1" });
      await change(`${switchGuards("DISABLE")}; UPDATE stored_payment SET saving = 'REQUESTED', consent_template = 'x', consent_locale = 'en',
        consented_at = app.clock(), token_sealed = 'x', handle_sealed = 'x', save_due_at = ${at} WHERE session_id = '${id}'; ${switchGuards("ENABLE")}`);
    },
    end: "DELETE FROM stored_payment",
  },
  "erase-cards": {
    begin: (at) => change(`INSERT INTO card_erasure VALUES (sha256('x'), gen_random_uuid(), ${at}, ${at})`),
    end: "DELETE FROM card_erasure",
  },
  "event-republish": { begin: (at) => event(true, at), end: "DELETE FROM event_todo" },
  "event-sweep": { begin: (at) => event(false, at), end: "DELETE FROM event_todo" },
  deliveries: {
    begin: (at) =>
      change(`INSERT INTO endpoint (id, merchant_id, url, secret_sealed, status, verified_at)
          SELECT gen_random_uuid(), '${fixture.owner.merchantId}', 'https://example.com', 'x', 'ENABLED', app.clock();
        INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
          SELECT id, ${ids("endpoint")}, session_id, sequence, ${at} FROM outbox_event WHERE session_id = '${paid}' LIMIT 1`),
    end: "DELETE FROM delivery; DELETE FROM endpoint",
  },
};

it.each(loopNames)("wakes the loop %s for its work, once it is due", async (name) => {
  onTestFinished(async () => void (await change(work[name].end)));
  await work[name].begin(future);
  expect(await woken()).toEqual([]);
  await change(work[name].end);
  await work[name].begin(past);
  expect(await woken()).toEqual([name]);
});
