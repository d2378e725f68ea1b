import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Payment } from "../rows/payment.ts";
import { startCoreFixture } from "../scenarios/core.fixture.ts";
import {
  claimSession,
  recordCapturedAndEnded,
  recordFailedAndOpened,
  recordHeldAndOrdered,
} from "./payment-functions.ts";

const fixture = await forFile(startCoreFixture);

describe("the rows that the functions of a payment return", () => {
  it.each(["DECLINED", "FAILED", "UNKNOWN"] as const)(
    "are the stored ones after a failover from %s",
    async (status) => {
      const { core, connectionIds } = fixture;
      const { id: sessionId, amountMinor, currency } = await fixture.newSession();
      const [first, second] = connectionIds.map((connectionId, index) => ({
        sessionId,
        id: systemRuntime.uuid(),
        gateway: `SANDBOX_${"AB"[index]}`,
        connectionId,
        credentialVersion: 1,
        priority: index + 1,
        because: "The plan.",
        amountMinor,
        currency,
        round: 0,
        authenticationId: null,
        latestExecutionMs: 60_000,
      }));
      const plan = {
        plan: [first!, second!].map(({ gateway, connectionId }) => ({
          gateway,
          connectionId,
          credentialVersion: 1,
          priority: 1,
        })),
        skipped: [],
      };
      const claim = { sessionId, vaultToken: new Secret("tok_1"), ruleVersion: 1, plan, submissionBudgetMs: 45_000 };
      const loaded = await claimSession(core.database, claim, first);
      const lease = { sessionId, epoch: loaded.session.leaseEpoch };
      const failureKind = status === "DECLINED" ? "SOFT_DECLINE" : "GATEWAY_ERROR";
      const as = {
        status,
        failureKind,
        declineCode: null,
        gatewayCode: "05",
        refusal: status === "FAILED" ? "REQUEST" : null,
      } as const;
      const card = { brand: "visa", last4: "4242" };
      const failed = { loaded, attempt: loaded.attempts[0]!, as, because: "It failed.", card, next: second! };
      const { readAt: _, ...known } = (await recordFailedAndOpened(core.database, lease, failed))!;
      const { readAt, ...stored } = await fixture.loadSession({ id: sessionId });
      expect(known).toEqual(stored);
    },
  );

  it("are the stored ones, and the event describes them", async () => {
    const { core, connectionIds } = fixture;
    const { id: sessionId, amountMinor, currency } = await fixture.newSession();
    const expectStored = async ({ readAt: _, ...known }: Payment) => {
      const { readAt, ...stored } = await fixture.loadSession({ id: sessionId });
      expect(known).toEqual(stored);
    };
    const claim = {
      vaultToken: new Secret("tok_1"),
      ruleVersion: 1,
      plan: { plan: [], skipped: [] },
      submissionBudgetMs: 45_000,
    };
    const claimed = await claimSession(
      core.database,
      { sessionId, ...claim },
      {
        sessionId,
        id: systemRuntime.uuid(),
        gateway: "SANDBOX_A",
        connectionId: connectionIds[0]!,
        credentialVersion: 1,
        priority: 1,
        because: "First of the plan.",
        amountMinor,
        currency,
        round: 0,
        authenticationId: null,
        latestExecutionMs: 60_000,
      },
    );
    await expectStored(claimed);
    const lease = { sessionId, epoch: claimed.session.leaseEpoch };
    const hold = { gatewayReference: systemRuntime.uuid(), networkTransactionId: "N1" };
    const card = { brand: "visa", last4: "4242" };
    const held = await recordHeldAndOrdered(core.database, lease, {
      loaded: claimed,
      attempt: claimed.attempts[0]!,
      hold,
      card,
    });
    await expectStored(held);
    const capture = { captureReference: "C1" };
    const winner = { loaded: held, attempt: held.attempts[0]!, capture, isConfirmed: true };
    const ended = await recordCapturedAndEnded(core, lease, winner);
    await expectStored(ended!);
    const event = {
      name: "body",
      text: "SELECT convert_from(body, 'UTF8')::json AS body FROM outbox_event WHERE session_id = $1",
    };
    const [row] = await core.database.query<{ body: { timestamp: string; data: object } }>(event, [sessionId]);
    expect(row?.body.data).toEqual({
      sequence: 1,
      ...core.describeSession(await fixture.loadSession({ id: sessionId })),
    });
    expect(row?.body.timestamp).toBe(ended!.session.settledAt!.toISOString());
  });
});
