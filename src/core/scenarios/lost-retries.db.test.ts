/** Tests that a restore finds a retry at the same gateway, of which this database knows only the attempt before it. */
import { beforeEach, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import { submitPayment } from "../submit-payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";
import { turns } from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeEach(() => fixture.setClockAhead(0));

it.each([
  ["held", "DECLINED"],
  ["captured", "VOIDED"],
] as const)("finds the %s retry of an attempt without an answer at the backup", async (upTo, first) => {
  const { merchantId } = fixture.owner;
  const [connectionId = ""] = fixture.connectionIds;
  const rule = { merchantId, connectionIds: fixture.connectionIds, failoverOn: [], retriesSameGateway: true };
  await fixture.core.database.transaction((tx) => recordRoutingRule(tx, rule));
  const session = await fixture.newSession();
  await fixture.sandbox.hold("a.authorize");
  fixture.useCard("4000000000000119");
  await fixture.sandbox.setCard("A", "4000000000000119", { act: "decline", code: "processing_error" });
  const core = withAnswers(fixture.core, {});
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
  await fixture.sandbox.paused({ operation: "a.authorize" });
  await fixture.asOwner.pool.query("UPDATE payment_session SET lease_epoch = lease_epoch + 1 WHERE id = $1", [
    session.id,
  ]);
  await fixture.sandbox.release();
  await Promise.all(core.inFlight);

  // The lost database recorded the decline, and retried.
  const reference = encodeId("att", attemptIdOf({ sessionId: session.id, connectionId, round: 2 }));
  const { connector, credentials } = (await fixture.core.bind(connectionId, "SANDBOX_A", 1))!;
  const { amountMinor, currency, orderRef } = session;
  const named = { amountMinor, currency, attemptReference: reference };
  const call = { credentials, timeoutMs: 5_000, idempotencyKey: reference };
  fixture.useCard(cards.approved);
  const { outcome } = await connector.authorize(call, {
    ...named,
    orderRef,
    sessionId: encodeId("ps", session.id),
    vaultToken: new Secret("tok_1"),
  });
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${outcome.type}`);
  const { gatewayReference } = outcome;
  if (upTo === "captured") {
    await connector.capture({ ...call, idempotencyKey: `${reference}_cap` }, { ...named, gatewayReference });
  }
  await declareRestore(fixture.asOwner, { backupTakenAt: undefined });

  expect(await turns(fixture, session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
  const { attempts } = await fixture.loadSession(session);
  expect(attempts.map(({ round, status }) => [round, status])).toEqual([
    [0, first],
    [2, "CAPTURED"],
  ]);
  expect(await fixture.capturedAtGateways(session)).toBe(1);
});
