/** Tests what must not happen while a customer is asked: after a cancel, after a fraud decline, and after a restore. */
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { ActionAnswer } from "../../gateways/connector.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { createOrphanTurn } from "../../oversight/orphaned-authorizations.ts";
import type { Core } from "../core.ts";
import { cancelAction } from "../customer-actions.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { challengeAt, startAuthentication, startProvided } from "./authentication.fixture.ts";
import { drain, itemsOf, recover, withAnswers } from "./recovery.fixture.ts";
import { payUnseen, turns } from "./restore.fixture.ts";

const fixture = await forFile(startAuthentication);
afterEach(() => fixture.base.setClockAhead(0));

const approve = { act: "approve" } as const;
const code = "insufficient_funds";
const noFunds = { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: code, gatewayCode: code } as const;

const selectHeld = {
  name: "held",
  text: "SELECT 1 FROM gateway_notification WHERE attempt_reference = $1 AND kind = 'held' AND processed_at IS NOT NULL",
};

/** A core whose gateways answer a look at an action as given; `before` runs while the gateway is being asked. */
function looking(answer: ActionAnswer, before: () => Promise<void> = async () => undefined): Core {
  const askAction = async () => {
    await before();
    return answer;
  };
  return withAnswers(fixture.base.core, (own) => ({ authentication: { ...own.authentication!, askAction } }));
}

async function cancel(session: PaymentSession): Promise<void> {
  const { core } = fixture.base;
  const { authentications } = await fixture.base.loadSession(session);
  await cancelAction(core, { sessionId: session.id, authenticationId: authentications.at(-1)!.id });
}

/** Takes the next look, which is due half a minute after the action was opened. */
async function look(core: Core): Promise<void> {
  await fixture.base.setClockAhead(0.6);
  await fixture.recover(core);
}

describe("a customer who cancels while the gateway is being asked", () => {
  for (const gateway of ["A", "B"] as const) {
    it(`is charged nowhere when SANDBOX_${gateway} then reports a decline`, async () => {
      const failover = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
      const { connectionIds } = fixture.base;
      if (gateway === "B") await fixture.base.setRule(failover, connectionIds.toReversed());
      const at = gateway === "A" ? { A: challengeAt.A(), B: approve } : { A: approve, B: challengeAt.B() };
      const session = await fixture.pay(at);
      await fixture.base.setRule(failover);
      await look(looking(noFunds, () => cancel(session)));
      await fixture.recover();
      expect(await fixture.story(session)).toMatchObject({
        end: "DECLINED authentication_failed",
        attempts: [`SANDBOX_${gateway} ${gateway === "A" ? "DECLINED" : "VOIDING"}`],
        authentications: ["CANCELLED"],
      });
    });
  }
});

describe("a gateway that reports a fraud decline while the customer is asked", () => {
  it("lets no hold of an earlier gateway be adopted", async () => {
    const { core } = fixture.base;
    const hasty: Core = { ...core, inFlight: new Set(), timing: { ...core.timing, attemptTimeoutMs: 1_000 } };
    const lost = { act: "approve_lose_answer" } as const;
    const session = await fixture.pay({ A: lost, B: challengeAt.B() }, { core: hasty });
    expect((await fixture.story(session)).attempts).toEqual(["SANDBOX_A UNKNOWN", "SANDBOX_B AWAITING_CUSTOMER"]);
    const fraud = { ...noFunds, kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected" } as const;
    await look(looking(fraud));
    await fixture.recover();
    expect(await fixture.story(session)).toMatchObject({
      end: "DEGRADED processing_unavailable",
      attempts: ["SANDBOX_A VOIDED", "SANDBOX_B VOIDING"],
    });
  });
});

describe("a database that is restored to a time while a customer was asked", () => {
  const failover = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
  afterEach(() => fixture.base.setRule(failover));

  /** Returns the end after the restore of a payment that another gateway has held or captured since the backup. */
  async function restored(other: "A" | "B", upTo: "held" | "captured") {
    const { base } = fixture;
    if (other === "A") await base.setRule(failover, base.connectionIds.toReversed());
    const session = await fixture.pay(
      other === "A" ? { A: approve, B: challengeAt.B() } : { A: challengeAt.A(), B: approve },
    );
    const reference = await payUnseen(base, session, other === "A" ? 0 : 1, upTo);
    await declareRestore(base.asOwner, { backupTakenAt: undefined });
    await turns(base, session, 8);
    // For an hour, SANDBOX_B may still hold for the customer; then it is asked until its notifications have come.
    for (
      let minutes = 75;
      (await base.loadSession(session)).session.status === "CREATED" && minutes < 240;
      minutes += 2
    ) {
      await base.setClockAhead(minutes);
      await fixture.recover();
    }
    const atOther = (await base.sandbox.authorizations(reference)).map(({ status }) => status);
    const { end, attempts } = await fixture.story(session);
    return { end, attempts: attempts.toSorted(), atOther };
  }

  it("gets the capture of another gateway since", async () => {
    expect(await restored("B", "captured")).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A VOIDED", "SANDBOX_B CAPTURED"],
      atOther: ["captured"],
    });
    expect(await restored("A", "captured")).toMatchObject({ end: "SUCCEEDED SANDBOX_A", atOther: ["captured"] });
  });

  it("ends without the hold of another gateway since, which is voided", async () => {
    const voided = { end: "DECLINED authentication_failed", atOther: ["voided"] };
    expect(await restored("B", "held")).toMatchObject(voided);
    expect(await restored("A", "held")).toMatchObject(voided);
  });

  it("voids a hold that the customer brings about long after the restore, at a gateway whose attempt is lost", async () => {
    const { base } = fixture;
    const session = await base.newSession();
    const { reference, url } = await fixture.askUnseen(session);
    await declareRestore(base.asOwner, { backupTakenAt: undefined });
    expect(await turns(base, session, 8)).toMatchObject({ status: "DEGRADED" });
    await fixture.answer(url, "pass");
    const statuses = async () => {
      await drain(createOrphanTurn(base.core));
      return (await base.sandbox.authorizations(reference)).map(({ status }) => status);
    };
    await expect.poll(statuses).toEqual(["voided"]);
    const items = async () => {
      await drain(createOrphanTurn(base.core));
      return itemsOf(base, session);
    };
    await expect.poll(items).toMatchObject([{ kind: "ORPHANED_AUTHORIZATION", resolvedAt: expect.any(Date) }]);
  });

  it("does not end before it has seen a hold that comes while the gateways answer", async () => {
    const { base } = fixture;
    const session = await base.newSession();
    const { reference, url } = await fixture.askUnseen(session);
    await declareRestore(base.asOwner, { backupTakenAt: undefined });
    await turns(base, session, 1);
    await base.setClockAhead(4);
    // SANDBOX_A answers last, and the hold of SANDBOX_B is reported before that.
    const late = withAnswers(base.core, {
      lookUp: async () => {
        await fixture.answer(url, "pass");
        await expect.poll(() => base.core.database.query(selectHeld, [reference])).toHaveLength(1);
        return { type: "absent" };
      },
    });
    await recover(base, late, session);
    expect((await base.loadSession(session)).session.status).toBe("CREATED");
    // A void has a new key each second.
    let minutes = 4;
    const later = async () => {
      await base.setClockAhead(++minutes);
      await recover(base, base.core, session);
      return (await base.loadSession(session)).session.status;
    };
    await expect.poll(later).toBe("DEGRADED");
    expect((await base.sandbox.authorizations(reference)).map(({ status }) => status)).toEqual(["voided"]);
  });
});

describe("a database that is restored to a time while a provider authenticated", () => {
  it("gets the capture of the next gateway, although the repeat at the first is lost", async () => {
    const provided = await startProvided();
    const session = await provided.payWith("4000002760003184");
    expect(await provided.story(session)).toMatchObject({ attempts: ["SANDBOX_A DECLINED"] });
    const reference = await payUnseen(provided.base, session, 1, "captured");
    await declareRestore(provided.base.asOwner, { backupTakenAt: undefined });
    await turns(provided.base, session, 8);
    expect(await provided.story(session)).toEqual({
      end: "SUCCEEDED SANDBOX_B",
      attempts: ["SANDBOX_A DECLINED", "SANDBOX_B CAPTURED"],
      authentications: ["ABANDONED"],
    });
    expect((await provided.base.sandbox.authorizations(reference)).map(({ status }) => status)).toEqual(["captured"]);
    await provided.close();
  });
});

describe("a wait whose looks fail", () => {
  it("ends a minute after its deadline", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const failing = looking({ type: "waiting" }, () => Promise.reject(new Error("no answer can be read")));
    await fixture.base.setClockAhead(11.1);
    await fixture.recover(failing);
    expect((await fixture.story(session)).end).toBe("DECLINED authentication_failed");
  });
});
