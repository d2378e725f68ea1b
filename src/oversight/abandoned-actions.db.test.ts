import { expect, it } from "vitest";
import { challengeAt, startAuthentication } from "../core/scenarios/authentication.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { raiseAlarmsOnce } from "./raise-alarms.ts";

const fixture = await forFile(startAuthentication);

it("a hold that may still appear costs a bounded number of voids and no alarm, and the trail says why", async () => {
  const session = await fixture.pay({ A: { act: "decline", code: "transaction_not_allowed" }, B: challengeAt.B() });
  const { core, sandbox } = fixture.base;
  const [, asked] = (await fixture.base.loadSession(session)).attempts;
  const alarms = async () => {
    await raiseAlarmsOnce(core);
    return core.database.query({ name: "all_work_items", text: "SELECT kind FROM work_item" }, []);
  };
  await fixture.base.setClockAhead(10.2);
  await fixture.recover();
  await fixture.recover();
  expect(await fixture.story(session)).toMatchObject({
    end: "DECLINED authentication_failed",
    attempts: ["SANDBOX_A DECLINED", "SANDBOX_B VOIDING"],
  });
  const [, voiding] = (await fixture.base.loadSession(session)).attempts;
  expect(voiding?.nextBecause).toBe(
    "The customer did not authenticate, and nothing else is tried. SANDBOX_B may still hold, so it gets voids until it no longer can.",
  );
  // From a minute to ten minutes after the end, then to the end of the hour in which a customer may finish.
  for (let minutes = 11; minutes < 75; minutes++) {
    await fixture.base.setClockAhead(minutes);
    await fixture.recover();
    expect(await alarms()).toEqual([]);
  }
  let minutes = 75;
  await expect
    .poll(async () => {
      await fixture.base.setClockAhead(Math.min(minutes++, 85));
      await fixture.recover();
      return (await fixture.story(session)).attempts.at(-1);
    })
    .toBe("SANDBOX_B VOIDED");
  const { "b.void": voids = 0 } = await sandbox.requests(encodeId("att", asked!.id));
  expect(voids).toBeLessThanOrEqual(22);
  expect(await alarms()).toEqual([]);
  expect(await fixture.base.eventTypes(session)).toEqual(["payment_session.declined", "payment_attempt.voided"]);
});
