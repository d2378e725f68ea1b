import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CoreFixture, startCoreFixture } from "../core/core-fixture.ts";
import type { Connector, VerifyRow } from "../gateways/connector.ts";
import { rotateCredentials } from "../gateways/verify-connection.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

// SANDBOX_B signs with the one key that the fixture has given it, whatever key the tried credentials have.
const keyAtGateway = "0F".repeat(32);
const testNotices = {
  name: "select_test_notices_of_a_test",
  text: `SELECT credential_version AS "credentialVersion" FROM gateway_notice
         WHERE connection_id = $1 AND kind = 'test' ORDER BY received_at`,
};

async function storedVersions(): Promise<number[]> {
  const { database } = fixture.core;
  const rows = await database.query<{ credentialVersion: number }>(testNotices, [fixture.connectionIds[1]]);
  return rows.map(({ credentialVersion }) => credentialVersion);
}

async function rotate(notificationHmacKey: string) {
  const { core } = fixture;
  const atB = core.connectorOf("SANDBOX_B")!;
  const known = (await storedVersions()).length;
  // What the gateway answers is passed on once its notice is stored, so that no wait is long.
  const verify: Connector["verify"] = async (call): Promise<readonly VerifyRow[]> => {
    const rows = await atB.verify(call);
    await expect.poll(async () => (await storedVersions()).length).toBeGreaterThan(known);
    return rows;
  };
  const connector = Object.assign(Object.create(atB) as Connector, {
    verify,
    credentialFields: atB.credentialFields,
  });
  const context = { database: core.database, ring: core.sealing, connector, noticeWaitMs: 500 };
  const merchantAccount = `test_${fixture.owner.merchantId}`;
  return rotateCredentials(
    { ...context, forwarding: core.vault.forwarding },
    {
      connectionId: fixture.connectionIds[1]!,
      credentials: { apiKey: `sandbox_${merchantAccount}`, merchantAccount, notificationHmacKey },
    },
  );
}

describe("rotateCredentials()", () => {
  it("takes a test notice that the credentials in use have verified for no proof of another key", async () => {
    const { verified, rows } = await rotate("AB".repeat(32));
    expect(rows).toContainEqual(
      expect.objectContaining({ check: "test_notice", state: "failed", detail: expect.stringContaining("its key") }),
    );
    expect(verified).toBe(false);
    expect(await storedVersions()).toEqual([1]);
  });

  it("counts a test notice for the credentials that are being tried where those in use have the same key", async () => {
    const { verified, credentialVersion } = await rotate(keyAtGateway);
    expect(verified).toBe(true);
    expect(await storedVersions()).toEqual([1, credentialVersion]);
  });
});
