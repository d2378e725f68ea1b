/**
 * A token that cannot pay a session is refused before the session is claimed, so the session stays open for another
 * token.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TokenCheck } from "../card-vault/card-vault.ts";
import { Secret } from "../platform/secrets.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core.fixture.ts";
import type { Core } from "./core.ts";
import { submitPayment } from "./submit-payment.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
});
afterAll(() => fixture.close());

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
