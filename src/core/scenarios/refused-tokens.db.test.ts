/**
 * A token that cannot pay a session is refused before the session is claimed, so the session stays open for another
 * token.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { TokenCheck } from "../../card-vault/card-vault.ts";
import { VaultClient } from "../../card-vault/own/vault-rpc.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { createBinder } from "../../gateways/connections.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { startVaultFixture, testCard } from "../../vault/vault.fixture.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { submitPayment } from "../submit-payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));

/** Returns a core whose vault answers this for a token. */
function saying(answer: (token: string) => TokenCheck["state"]): Core {
  const { core } = fixture;
  return { ...core, vault: { ...core.vault, checkToken: async ({ token }) => ({ state: answer(token.expose()) }) } };
}

describe("submitPayment() with a token that cannot pay", () => {
  it.each([
    ["not_found", "token_not_found"],
    ["expired", "token_expired"],
    ["used", "token_used"],
  ] as const)("that is %s leaves the session open, and takes another token", async (state, code) => {
    const session = await fixture.newSession();
    const core = saying((token) => (token === "tok_bad" ? state : "unused"));
    await expect(fixture.submit(session, cards.approved, "tok_bad", core)).rejects.toMatchObject({ code });
    const { session: open, attempts } = await fixture.loadSession(session);
    expect({ ...open, attempts: attempts.length }).toMatchObject({ status: "CREATED", phase: "IDLE", attempts: 0 });
    expect(await fixture.eventTypes(session)).toEqual([]);
    expect(await fixture.submit(session, cards.approved, "tok_good", core)).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it.each(["used", "not_found"] as const)(
    "joins the submission that has made the token %s since the session was read",
    async (state) => {
      const session = await fixture.newSession();
      const { session: read } = await fixture.loadSession(session);
      await fixture.submit(session, cards.approved);
      const repeat = { session: read, vaultToken: new Secret("tok_1"), signal: new AbortController().signal };
      const joined = await submitPayment(
        saying(() => state),
        repeat,
      );
      expect(joined).toMatchObject({ id: session.id, status: "SUCCEEDED" });
      expect(await fixture.capturedAtGateways(session)).toBe(1);
    },
  );

  it("reports an expired session as expired, whatever the token", async () => {
    const session = await fixture.newSession();
    await fixture.setClockAhead(31);
    const submitted = fixture.submit(
      session,
      cards.approved,
      "tok_1",
      saying(() => "not_found"),
    );
    await expect(submitted).rejects.toMatchObject({ code: "session_expired" });
    await fixture.setClockAhead(0);
  });

  it("submits when the vault cannot be reached: the first attempt finds out", async () => {
    const session = await fixture.newSession();
    const core = saying(() => "unknown");
    expect(await fixture.submit(session, cards.approved, "tok_1", core)).toMatchObject({ status: "SUCCEEDED" });
  });
});

describe("submitPayment() with our own vault", async () => {
  const vault = await forFile(startVaultFixture);

  /** Returns the core of one more edge, which reads tokens and can reach SANDBOX_A. */
  async function edgeCore(): Promise<Core & { close(): Promise<void> }> {
    const { core, sandbox } = fixture;
    const { cardToken } = vault.config.environments[0]!;
    const { host: address } = new URL(vault.vault.origins.grpc);
    const forwarder = new VaultClient({ address, signing: vault.signing.test, cardToken, log: core.log });
    // On a busy machine the first connection takes longer than a check may.
    const asked = { sessionId: "ps_first", token: new Secret("tok_never") };
    await expect.poll(async () => (await forwarder.checkToken(asked)).state).toBe("not_found");
    const http = new GatewayHttp();
    const connector = new SandboxAConnector({ http, forwarder, origin: sandbox.origin, environment: "test" });
    const connectorOf = (gateway: string) => (gateway === "SANDBOX_A" ? connector : undefined);
    return {
      ...core,
      vault: {
        ...core.vault,
        checkToken: (asked) => forwarder.checkToken(asked),
        forget: (sessionId) => forwarder.forget(sessionId),
      },
      connectorOf,
      bind: createBinder({ database: core.database, ring: core.sealing, connectorOf }),
      async close() {
        forwarder.close();
        await http.close();
      },
    };
  }

  async function tokenOf({ id }: PaymentSession): Promise<string> {
    const answer = await vault.tokenize(encodeId("ps", id), testCard);
    return ((await answer.json()) as { token: string }).token;
  }

  it("pays, refuses what is no token of the session, and has a used one join", async () => {
    const core = await edgeCore();
    const [session, other] = [await fixture.newSession(), await fixture.newSession()];
    const [token, foreign] = [await tokenOf(session), await tokenOf(other)];
    const forged = token.slice(0, -2) + (token.endsWith("AA") ? "QQ" : "AA");
    for (const wrong of [foreign, forged, "tok_never"]) {
      const refused = fixture.submit(session, cards.approved, wrong, core);
      await expect(refused).rejects.toMatchObject({ code: "token_not_found" });
    }
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "CREATED", phase: "IDLE" });
    const paid = { status: "SUCCEEDED", capturedVia: "SANDBOX_A" };
    expect(await fixture.submit(session, cards.approved, token, core)).toMatchObject(paid);
    expect(await fixture.submit(session, cards.approved, token, core)).toMatchObject(paid);
    const again = fixture.submit(session, cards.approved, foreign, core);
    await expect(again).rejects.toMatchObject({ code: "session_ended" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    await core.close();
  });

  it("ends DEGRADED for a card that the vault has lost, with nothing sent, and leaves the next such session open", async () => {
    const core = await edgeCore();
    const [session, next] = [await fixture.newSession(), await fixture.newSession()];
    const tokens = [await tokenOf(session), await tokenOf(next)] as const;
    // As a crash of the server leaves it.
    await vault.database.pool.query("DELETE FROM card");
    expect(await fixture.submit(session, cards.approved, tokens[0], core)).toMatchObject({
      status: "DEGRADED",
      declineCode: "processing_unavailable",
    });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts).toMatchObject([{ gateway: "SANDBOX_A", status: "FAILED" }]);
    expect(await fixture.sandbox.authorizations(encodeId("att", attempts[0]!.id))).toEqual([]);
    const refused = fixture.submit(next, cards.approved, tokens[1], core);
    await expect(refused).rejects.toMatchObject({ code: "token_not_found" });
    expect(await fixture.submit(next, cards.approved, await tokenOf(next), core)).toMatchObject({
      status: "SUCCEEDED",
    });
    await core.close();
  });
});
