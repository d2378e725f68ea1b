/** Tests the plan, verification and creation with a vault that can do less than ours, or is down for a while. */
import { beforeAll, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { loadNewestVersion } from "../../gateways/connections.ts";
import { verifyConnection } from "../../gateways/verify-connection.ts";
import { DomainError } from "../../platform/errors.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { Core } from "../core.ts";
import { createSession } from "../create-session.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));

const lateMs = 60_000;
const coreOver = (change: Partial<Core["vault"]>): Core => ({
  ...fixture.core,
  vault: { ...fixture.core.vault, ...change },
});
const jsonOnly = () => coreOver({ forwarding: { features: new Set(), lateMs } });
const because = "The card vault of this installation cannot send what SANDBOX_A needs: form-encoded bodies.";

describe("a vault that sends JSON bodies only", () => {
  it("never has to send a form: the gateway that takes forms is left out of the plan with a reason", async () => {
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.approved, "tok_1", jsonOnly());
    const [atA, atB] = fixture.connectionIds;
    expect(ended).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      failover: false,
      skipped: [{ gateway: "SANDBOX_A", connectionId: atA, because }],
      plan: [{ priority: 2, connectionId: atB }],
    });
  });

  it("adds its own time to the gateway's before an absent hold is final", async () => {
    const session = await fixture.newSession();
    await fixture.submit(session, cards.approved, "tok_1", jsonOnly());
    const [attempt] = (await fixture.loadSession(session)).attempts;
    // Twice 10 s and SANDBOX_B's 30 s apply with any vault.
    expect(attempt!.latestExecutionAt.getTime() - attempt!.startedAt.getTime()).toBe(50_000 + lateMs);
  });

  it("fails the verification of a connection that needs more, whatever its gateway answers", async () => {
    const { core } = fixture;
    const verify = async (connectionId: string, gateway: string, forwarding: Core["vault"]["forwarding"]) => {
      const credentialVersion = await loadNewestVersion(core.database, connectionId);
      const connector = core.connectorOf(gateway)!;
      const context = { database: core.database, ring: core.sealing, connector, forwarding };
      return verifyConnection(context, { connectionId, credentialVersion });
    };
    const { forwarding } = jsonOnly().vault;
    const [atA = "", atB = ""] = fixture.connectionIds;
    const refused = await verify(atA, "SANDBOX_A", forwarding);
    expect(refused.verified).toBe(false);
    expect(refused.rows.filter(({ state }) => state !== "passed")).toEqual([
      { check: "card_vault", state: "failed", required: true, detail: because },
    ]);
    expect(await verify(atA, "SANDBOX_A", core.vault.forwarding)).toMatchObject({ verified: true });
    expect(await verify(atB, "SANDBOX_B", forwarding)).toMatchObject({ verified: true });
  });
});

describe("createSession() while the vault gives no grant", () => {
  it("creates nothing, and leaves the Idempotency-Key free for the next request", async () => {
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemRuntime.uuid()}` };
    const key = systemRuntime.uuid();
    const silent = coreOver({
      openSession: async () => {
        throw new DomainError("unavailable", "The card vault did not open a session.");
      },
    });
    await expect(createSession(silent, fixture.owner, order, key)).rejects.toMatchObject({ code: "unavailable" });
    const text = "SELECT 1 FROM payment_session WHERE order_ref = $1";
    expect(await fixture.asOwner.query({ name: "sessions_of", text }, [order.orderRef])).toEqual([]);
    const { replayed, session } = await createSession(fixture.core, fixture.owner, order, key);
    expect([replayed, session.orderRef]).toEqual([false, order.orderRef]);
  });
});
