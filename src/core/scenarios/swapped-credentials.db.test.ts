import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { dropCredentials, loadNewestVersion, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);
let connectionId: string;
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
[connectionId = ""] = fixture.connectionIds;

const pay = async (number: string) => fixture.submit(await fixture.newSession(), number);

/** Stages the key of another account, which does not know payments of the first: with it their captures would fail. */
const stage = (account: string) =>
  fixture.core.database.transaction((tx) =>
    stageCredentials(tx, fixture.core.sealing, { connectionId, credentials: { apiKey: `sandbox_test_${account}` } }),
  );
const useFromNowOn = (credentialVersion: number) =>
  fixture.core.database.transaction((tx) => recordVerified(tx, { connectionId, credentialVersion }));

const dropped = {
  name: "select_dropped_of_a_test",
  text: "SELECT version FROM connection_credential WHERE connection_id = $1 AND sealed = '' ORDER BY version",
};
const droppedVersions = async () =>
  (await fixture.asOwner.query<{ version: number }>(dropped, [connectionId])).map(({ version }) => version);

const versionUsed = async (session: { id: string }) =>
  (await fixture.loadSession(session)).attempts[0]!.credentialVersion;

describe("credentials that are swapped during a payment", () => {
  it("are not used by the payment in progress, which ends with those that it began with", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.authorize", session);
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
    // As a rotation that came too late does.
    await dropCredentials(fixture.core.database, { connectionId, credentialVersion: older });
    expect(await droppedVersions()).toEqual([older]);
  });

  it("does so where the newer ones come into use at the same moment", async () => {
    const [older, newer] = [await stage("older"), await stage("newer")];
    let late: Promise<boolean> | undefined;
    await fixture.core.database.transaction(async (tx) => {
      expect(await recordVerified(tx, { connectionId, credentialVersion: newer })).toBe(true);
      late = useFromNowOn(older);
      const waiting = {
        name: "count_waiting_for_lock",
        text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      };
      await expect.poll(async () => (await fixture.core.database.query(waiting, [])).length).toBe(1);
    });
    expect(await late).toBe(false);
    const before = await droppedVersions();
    await dropCredentials(fixture.core.database, { connectionId, credentialVersion: older });
    expect(await droppedVersions()).toEqual([...before, older]);
  });
});

describe("dropCredentials()", () => {
  it("drops refused credentials, never those that are or were in use", async () => {
    const inUse = await loadNewestVersion(fixture.core.database, connectionId);
    const before = await droppedVersions();
    const refused = await stage("refused");
    for (const credentialVersion of [1, inUse, refused]) {
      await dropCredentials(fixture.core.database, { connectionId, credentialVersion });
    }
    expect(await droppedVersions()).toEqual([...before, refused]);
    expect(await useFromNowOn(refused)).toBe(false);
    expect(await loadNewestVersion(fixture.core.database, connectionId)).toBe(inUse);
  });
});
