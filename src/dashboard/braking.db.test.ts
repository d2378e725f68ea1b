/** A person's hold on braking, by the dashboard's rpc and by the command line: roles, its time, its end, and the audit trail. */
import { afterEach, describe, expect, it } from "vitest";
import { SettingsService } from "../../gen/dashboard/v1/settings_pb.ts";
import { createBrakeTurn } from "../core/card-testing/brake-merchants.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const turn = createBrakeTurn({ database: dashboard.database, runtime: systemRuntime, isTest: true });
const cookies = {
  dora: await pages.join("Dora", "DEVELOPER"),
  olga: await pages.join("Olga", "OWNER"),
  viv: await pages.join("Viv", "VIEWER"),
  stale: await pages.enterStale("Dora"),
};
afterEach(async () => {
  await dashboard.setClockAhead("0 s");
  await dashboard.rows("TRUNCATE braking, braking_hold, tested_payment, alert");
});

type Braking = { now?: { begunBy: string; threshold: number }; hold?: { on: boolean; heldBy: string } };
const scope = () => ({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" });
const set = (hold: "ON" | "OFF" | "NONE", hours: number, cookie = cookies.dora) =>
  pages.call(SettingsService.method.setBraking, cookie, { ...scope(), hold, hours });
const brakingOf = async (answer: Promise<unknown>) =>
  ((await answer) as { settings: { braking?: Braking } }).settings.braking;
/** Returns what is so of braking: nothing where the merchant does not brake and nobody holds it. */
const load = async () => {
  const { now, hold } = (await brakingOf(pages.call(SettingsService.method.getSettings, cookies.viv, scope()))) ?? {};
  return { now, hold };
};
const brakes = async () => (await load()).now !== undefined;
const trail = () =>
  dashboard.rows<object>("SELECT actor, before, after FROM audit_entry WHERE action = 'SetBraking' ORDER BY id");
const byCards = { braking: "BY_DECLINED_CARDS" };
const dora = expect.stringMatching(/^dora@example\.com/);
const ada = expect.stringMatching(/^ada /);

/** Inserts what so many payments of a tester leave. */
const tested = (count: number) =>
  dashboard.rows(
    `INSERT INTO tested_payment SELECT gen_random_uuid(), '${decodeId("mer", dashboard.merchantId)}', gen_random_uuid(), app.clock() FROM generate_series(1, ${count})`,
  );

describe("a hold on braking", () => {
  it("is set and ended by developers and owners with a fresh sign-in, of the merchant, and shown to all", async () => {
    await set("OFF", 2);
    for (const [hold, hours] of [
      ["ON", 1],
      ["NONE", 0],
    ] as const) {
      expect(await codeOf(set(hold, hours, cookies.viv))).toBe("role_not_allowed");
      expect(await codeOf(set(hold, hours, cookies.stale))).toBe("fresh_sign_in_required");
      expect(await codeOf(set(hold, hours, ""))).toBe("sign_in_required");
    }
    const other = { merchantId: encodeId("mer", systemRuntime.uuid()), hold: "ON", hours: 1 };
    const ofOther = pages.call(SettingsService.method.setBraking, cookies.dora, { ...scope(), ...other });
    expect(await codeOf(ofOther)).toBe("not_found");
    expect(await load()).toMatchObject({ hold: { on: false, heldBy: dora } });
    expect((await brakingOf(set("ON", 1, cookies.olga)))?.hold).toMatchObject({
      heldBy: expect.stringMatching(/^olga/),
    });
    expect((await brakingOf(set("NONE", 0, cookies.olga)))?.hold).toBeUndefined();
  });

  it("is for 1 to 168 hours, and its end has none", async () => {
    for (const [hold, hours] of [
      ["ON", 0],
      ["OFF", 0],
      ["NONE", 1],
      ["ON", 169],
    ] as const)
      expect(await codeOf(set(hold, hours))).toBe("invalid_field");
    expect(await load()).toEqual({});
    for (const hours of [1, 168]) expect((await brakingOf(set("OFF", hours)))?.hold).toMatchObject({ on: false });
  });

  it("is in the audit trail with its end, also the one that replaces another", async () => {
    const before = (await trail()).length;
    await set("ON", 1);
    await set("OFF", 3);
    await set("NONE", 0);
    const rows = (await trail()).slice(before);
    const [on, off] = [
      { braking: "ON", until: expect.any(String) },
      { braking: "OFF", until: expect.any(String) },
    ];
    expect(rows).toEqual([
      { actor: dora, before: byCards, after: on },
      { actor: dora, before: on, after: off },
      { actor: dora, before: off, after: byCards },
    ]);
  });

  it("brakes at once and until its end, without a declined card", async () => {
    expect(await brakingOf(set("ON", 1))).toMatchObject({ now: { begunBy: dora }, hold: { on: true } });
    expect(await dashboard.rows("SELECT detail FROM alert WHERE kind = 'CARD_TESTING'")).toEqual([
      { detail: expect.stringMatching(/^dora@example\.com .* has held braking on\. 0 cards/) },
    ]);
    await turn();
    await dashboard.setClockAhead("59 min");
    await turn();
    expect(await brakes()).toBe(true);
    await dashboard.setClockAhead("61 min");
    await turn();
    expect(await load()).toEqual({});
  });

  it("ends braking at once and keeps it off until its end, whatever is declined", async () => {
    await tested(61);
    await turn();
    expect(await brakes()).toBe(true);
    expect((await brakingOf(set("OFF", 1)))?.now).toBeUndefined();
    await dashboard.setClockAhead("59 min");
    await tested(61);
    await turn();
    expect(await brakes()).toBe(false);
    await dashboard.setClockAhead("61 min");
    await turn();
    expect(await brakes()).toBe(true);
  });

  it("gives the word back to the declined cards where a person ends it", async () => {
    await tested(61);
    await set("OFF", 1);
    await turn();
    expect(await brakes()).toBe(false);
    expect((await brakingOf(set("NONE", 0)))?.now).toMatchObject({ begunBy: "", threshold: 60 });
  });
});

describe("SetBraking by switchyard rpc", () => {
  it("holds it on and off and ends the hold, as the operator, with hours where it needs them", async () => {
    const env = { SWITCHYARD_OPERATOR_TOKEN: (await dashboard.hireOperator("ada")).expose() };
    const at = ["--grpc-address", dashboard.address, "--merchant", dashboard.merchantId];
    const run = (request: object) =>
      runCommandHere(["rpc", "SettingsService/SetBraking", JSON.stringify(request), ...at], { env });
    for (const [wrong, message] of [
      [{}, "hours"],
      [{ hours: 169 }, "less than or equal to 168"],
    ] as const)
      expect(await run({ hold: "ON", ...wrong })).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await load()).toEqual({});
    const held = await run({ hold: "ON", hours: 2 });
    expect(JSON.parse(held.out).settings.braking).toMatchObject({ hold: { on: true, heldBy: ada } });
    expect(await load()).toMatchObject({ now: { begunBy: ada }, hold: { on: true, heldBy: ada } });
    expect(JSON.parse((await run({ hold: "OFF", hours: 1 })).out).settings.braking).toMatchObject({
      hold: { on: false },
    });
    const ended = await run({ hold: "NONE" });
    expect(JSON.parse(ended.out).settings.braking ?? {}).toEqual({});
    expect((await trail()).slice(-3)).toMatchObject([
      { actor: ada, after: { braking: "ON" } },
      { actor: ada, before: { braking: "ON" }, after: { braking: "OFF" } },
      { actor: ada, before: { braking: "OFF" }, after: byCards },
    ]);
  });
});
