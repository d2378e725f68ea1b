/** Tests the action of a session: who sees it, how often, and what is left of it. */
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { openAction, useActionTicket } from "./customer-actions.ts";
import { challengeAt, startAuthentication } from "./scenarios/authentication.fixture.ts";

const fixture = await forFile(startAuthentication);

describe("the action of a session", () => {
  it("is shown once by each ticket, and by the newest one only", async () => {
    const session = await fixture.pay({ A: challengeAt.A() });
    const { core } = fixture.base;
    const { id } = (await fixture.base.loadSession(session)).authentications[0]!;
    const named = { sessionId: session.id, authenticationId: id };
    const [first, second] = [await openAction(core, named), await openAction(core, named)];
    await expect(useActionTicket(core, first)).rejects.toMatchObject({ code: "action_expired" });
    expect(await useActionTicket(core, second)).toMatchObject({ method: "GET" });
    await expect(useActionTicket(core, second)).rejects.toMatchObject({ code: "action_expired" });
    for (let shown = 1; shown < 3; shown++) await useActionTicket(core, await openAction(core, named));
    await expect(useActionTicket(core, await openAction(core, named))).rejects.toMatchObject({
      code: "action_expired",
    });
    await fixture.cancel(session);
    await expect(openAction(core, named)).rejects.toMatchObject({ code: "action_expired" });
    await expect(openAction(core, { ...named, authenticationId: core.runtime.uuid() })).rejects.toMatchObject({
      code: "no_action",
    });
  });

  it("leaves nothing sealed behind, and no browser data", async () => {
    const session = await fixture.pay({ A: { act: "decline", code: "transaction_not_allowed" }, B: challengeAt.B() });
    const sealed = async () => {
      const text = `SELECT num_nonnulls(t.action_sealed, t.keep_sealed, t.returned_sealed, t.ticket_hash)::int AS kept,
        s.browser_sealed IS NOT NULL AS browser
        FROM authentication t JOIN payment_session s ON s.id = t.session_id WHERE s.id = $1`;
      return (await fixture.base.core.database.query({ name: "sealed", text }, [session.id]))[0];
    };
    expect(await sealed()).toEqual({ kept: 1, browser: true });
    await fixture.answerAndReturn(session, "pass");
    await expect.poll(async () => (await fixture.story(session)).end).toBe("SUCCEEDED SANDBOX_B");
    expect(await sealed()).toEqual({ kept: 0, browser: false });
  });
});
