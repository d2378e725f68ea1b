import { expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { challengeAt, startAuthentication } from "../core/scenarios/authentication.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { countedPayments } from "./analytics/counted-facts.ts";
import { loadConnectionHealth } from "./gateway-health.ts";
import { listPastSessions } from "./past-payments.ts";
import { loadPayment } from "./payment-details.ts";
import { writeTimeline } from "./payment-timeline.ts";

const fixture = await forFile(startAuthentication);

const declineA = { act: "decline", code: "transaction_not_allowed" } as const;

/** Returns the health of the connection at which a session's last attempt was made. */
async function healthAt(session: PaymentSession) {
  const { merchantId } = fixture.base.owner;
  const since = new Date(Date.now() - 60_000);
  const rows = await loadConnectionHealth(fixture.base.core.database, { merchantId, since });
  const { connectionId } = (await fixture.base.loadSession(session)).attempts.at(-1)!;
  const { attempts, approved, declined } = rows.find((row) => row.connectionId === connectionId) ?? {};
  return { attempts, approved, declined };
}

it("a gateway's health leaves out customers who are asked, and counts those who did not authenticate as declined", async () => {
  const [passed, left] = [
    await fixture.pay({ A: challengeAt.A() }),
    await fixture.pay({ A: declineA, B: challengeAt.B() }),
  ];
  expect(await healthAt(passed)).toEqual({ attempts: 1, approved: 0, declined: 1 });
  expect(await healthAt(left)).toEqual({ attempts: undefined, approved: undefined, declined: undefined });
  await fixture.answerAndReturn(passed, "pass");
  await fixture.cancel(left);
  expect((await fixture.base.loadSession(left)).attempts.at(-1)).toMatchObject({
    gateway: "SANDBOX_B",
    status: expect.stringMatching(/^VOID/),
    declineCode: "authentication_failed",
  });
  expect(await healthAt(passed)).toEqual({ attempts: 2, approved: 1, declined: 1 });
  expect(await healthAt(left)).toEqual({ attempts: 1, approved: 0, declined: 1 });
});

it("a past payment knows whether its customer was asked", async () => {
  const asked = await fixture.pay({ A: challengeAt.A() });
  await fixture.answerAndReturn(asked, "pass");
  const plain = await fixture.pay({ A: { act: "approve" } });
  const frictionless = await fixture.pay({ A: { act: "approve", frictionless: "Y" } });
  const { merchantId } = fixture.base.owner;
  const listed = { merchantId, since: new Date(Date.now() - 60_000), count: 10 };
  const past = await listPastSessions(fixture.base.core.database, listed);
  const found = ({ id }: PaymentSession) => past.find((one) => one.id === id);
  const attempts = [{ answer: { type: "held" }, authentication: "as_needed" }];
  expect(found(asked)).toMatchObject({ customerAsked: true, attempts });
  expect(found(plain)).toMatchObject({ customerAsked: false, attempts });
  expect(found(frictionless)).toMatchObject({ customerAsked: false, attempts });
  const of = countedPayments.facts("s.id = ANY ($1::uuid[])");
  const text = `WITH f AS (SELECT 15 AS minutes) SELECT sum(challenged)::int AS challenged FROM (${of}) counted`;
  const counts = await fixture.base.core.database.query({ name: "count_challenged", text }, [
    [asked.id, frictionless.id],
  ]);
  expect(counts).toEqual([{ challenged: 1 }]);
});

it("a payment that was authenticated without its customer shows the result before the answer", async () => {
  const session = await fixture.pay({ A: { act: "approve", frictionless: "Y" } });
  const { merchantId } = fixture.base.owner;
  const details = await loadPayment(fixture.base.core.database, { merchantId, sessionId: session.id });
  const steps = writeTimeline(details!).map(({ step }) => step.replace(/\d+ ms.*/, "… ms"));
  expect(steps.slice(3, 5)).toEqual([
    "Authenticated without asking the customer (3-D Secure 2.2.0, ECI 05)",
    "Authorized after … ms",
  ]);
});
