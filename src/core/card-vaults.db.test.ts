/** What the plan, verification and creation make of a vault that can do less than ours, or nothing for a while. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadNewestVersion } from "../gateways/connections.ts";
import { verifyConnection } from "../gateways/verify-connection.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { DomainError } from "../platform/errors.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import { createSession } from "./create-session.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
});
afterAll(() => fixture.close());

const lateMs = 60_000;
const coreOver = (change: Partial<Core["vault"]>): Core => ({
  ...fixture.core,
  vault: { ...fixture.core.vault, ...change },
});
const jsonOnly = () => coreOver({ forwarding: { features: new Set(), lateMs } });
const because = "The card vault of this installation cannot send what SANDBOX_A needs: form-encoded bodies.";

describe("a vault that sends JSON bodies only", () => {
  it("is never asked to send a form: the gateway that takes forms is left out of the plan, and says why", async () => {
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

  it("leaves the attempt its own time beside the gateway's before an absent hold is final", async () => {
    const session = await fixture.newSession();
    await fixture.submit(session, cards.approved, "tok_1", jsonOnly());
    const [attempt] = (await fixture.trail(session)).attempts;
    // Twice 10 s and SANDBOX_B's 30 s are there with any vault.
    expect(attempt!.horizonAt.getTime() - attempt!.startedAt.getTime()).toBe(50_000 + lateMs);
  });

  it("fails the verification of a connection that needs more, whatever its gateway says", async () => {
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
  it("creates nothing, and leaves the Idempotency-Key to the next try", async () => {
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemEntropy.uuid()}` };
    const key = systemEntropy.uuid();
    const silent = coreOver({
      describe: async () => {
        throw new DomainError("unavailable", "The card vault opened no session.");
      },
    });
    await expect(createSession(silent, fixture.owner, order, key)).rejects.toMatchObject({ code: "unavailable" });
    const text = "SELECT 1 FROM payment_session WHERE order_ref = $1";
    expect(await fixture.asOwner.query({ name: "sessions_of", text }, [order.orderRef])).toEqual([]);
    const { replayed, session } = await createSession(fixture.core, fixture.owner, order, key);
    expect([replayed, session.orderRef]).toEqual([false, order.orderRef]);
  });
});
