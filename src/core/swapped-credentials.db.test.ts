import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dropCredentials, loadNewestVersion, recordVerified, stageCredentials } from "../gateways/connections.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";

let fixture: CoreFixture;
let connectionId: string;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
  [connectionId = ""] = fixture.connectionIds;
});
afterAll(() => fixture.close());

const pay = async (number: string) => fixture.submit(await fixture.newSession(), number);

/** Another account's key, which knows nothing of payments under the first: with it their captures would fail. */
const stage = (account: string) =>
  fixture.core.database.transaction((tx) =>
    stageCredentials(tx, fixture.core.sealing, { connectionId, credentials: { apiKey: `sandbox_test_${account}` } }),
  );
const useFromNowOn = (credentialVersion: number) =>
  fixture.core.database.transaction((tx) => recordVerified(tx, { connectionId, credentialVersion }));

const versionUsed = async (session: { id: string }) => (await fixture.trail(session)).attempts[0]!.credentialVersion;

describe("credentials that are swapped in mid-payment", () => {
  it("are not used by the payment under way, which ends with those that it began with", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.authorize");
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "a.authorize" });
    const version = await stage("another");
    expect(await useFromNowOn(version)).toBe(true);
    await fixture.sandbox.release({ operation: "a.authorize" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    const next = await pay(cards.approved);
    expect(next).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect([await versionUsed(session), await versionUsed(next)]).toEqual([1, version]);
  });
});

describe("recordVerified()", () => {
  it("leaves newer credentials in use when older ones pass their test later", async () => {
    const [older, newer] = [await stage("older"), await stage("newer")];
    expect(await useFromNowOn(newer)).toBe(true);
    expect(await useFromNowOn(older)).toBe(false);
    expect(await versionUsed(await pay(cards.approved))).toBe(newer);
  });
});

describe("dropCredentials()", () => {
  it("forgets what was refused, never what is in use or was", async () => {
    const inUse = await loadNewestVersion(fixture.core.database, connectionId);
    const refused = await stage("refused");
    for (const credentialVersion of [1, inUse, refused]) {
      await dropCredentials(fixture.core.database, { connectionId, credentialVersion });
    }
    const text = "SELECT version FROM connection_credential WHERE connection_id = $1 AND sealed = ''";
    const { rows } = await fixture.asOwner.pool.query(text, [connectionId]);
    expect(rows).toEqual([{ version: refused }]);
    expect(await useFromNowOn(refused)).toBe(false);
    expect(await loadNewestVersion(fixture.core.database, connectionId)).toBe(inUse);
  });
});
