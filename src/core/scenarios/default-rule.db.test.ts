/** Payments of a merchant that has saved no routing rule. */
import { expect, it } from "vitest";
import { PaymentSessionSchema } from "../../../gen/payments/v1/payment_session_pb.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { toSessionMessage } from "../../edge/session-messages.ts";
import { encodeId } from "../../platform/ids.ts";
import { publicJson } from "../../transcoder/public-json.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);

it("are routed by the default rule, whose name the trail has, and fail over on every kind of failure", async () => {
  const session = await fixture.newSession();
  await fixture.submit(session, cards.failover);
  const loaded = await fixture.loadSession(session);
  expect(loaded.session).toMatchObject({ status: "SUCCEEDED", failover: true, ruleVersion: 0 });
  expect(loaded.attempts.map(({ because, nextBecause }) => [because, nextBecause])).toEqual([
    [
      "First of the plan by the default rule.",
      expect.stringMatching(/^The default rule fails over to SANDBOX_B after a hard decline/),
    ],
    [expect.stringMatching(/^The default rule fails over/), null],
  ]);
  const [first, second] = fixture.connectionIds.map((id) => encodeId("gc", id));
  expect(JSON.parse(publicJson(PaymentSessionSchema, toSessionMessage(loaded))).routing).toMatchObject({
    ruleVersion: 0,
    plan: [{ connectionId: first }, { connectionId: second }],
  });
});

it("follow a saved rule as soon as there is one, and stay with the default rule that they began with", async () => {
  await fixture.setRule([]);
  const session = await fixture.newSession();
  await fixture.submit(session, cards.failover);
  const { session: ended, attempts } = await fixture.loadSession(session);
  expect(ended).toMatchObject({ status: "DECLINED", ruleVersion: 1 });
  expect(attempts).toHaveLength(1);
});
