import { describe, expect, it } from "vitest";
import { startCoreFixture } from "../../core/scenarios/core.fixture.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { stageCredentials } from "../../gateways/connections.ts";
import type { Connector, VerifyRow } from "../../gateways/connector.ts";
import { rotateCredentials, verifyConnection } from "../../gateways/verify-connection.ts";

const fixture = await forFile(startCoreFixture);

// SANDBOX_B signs with the one key that the fixture has given it, whatever key the credentials under test have.
const keyAtGateway = "0F".repeat(32);
const testNotifications = {
  name: "select_test_notifications_of_a_test",
  text: `SELECT credential_version AS "credentialVersion" FROM gateway_notification
         WHERE connection_id = $1 AND kind = 'test' ORDER BY received_at`,
};

async function storedVersions(): Promise<number[]> {
  const { database } = fixture.core;
  const rows = await database.query<{ credentialVersion: number }>(testNotifications, [fixture.connectionIds[1]]);
  return rows.map(({ credentialVersion }) => credentialVersion);
}

async function rotate(notificationHmacKey: string) {
  const { core } = fixture;
  const atB = core.connectorOf("SANDBOX_B")!;
  const known = (await storedVersions()).length;
  // The gateway's answer is returned once its notification is stored, so no wait is long.
  const verify: Connector["verify"] = async (call): Promise<readonly VerifyRow[]> => {
    const rows = await atB.verify(call);
    await expect.poll(async () => (await storedVersions()).length).toBeGreaterThan(known);
    return rows;
  };
  const connector = Object.assign(Object.create(atB) as Connector, {
    verify,
    credentialFields: atB.credentialFields,
  });
  const context = { database: core.database, ring: core.sealing, connector, notificationWaitMs: 500 };
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
  it("does not accept a test notification signed with the credentials in use as proof of another key", async () => {
    const { verified, rows } = await rotate("AB".repeat(32));
    expect(rows).toContainEqual(
      expect.objectContaining({
        check: "test_notification",
        state: "failed",
        detail: expect.stringContaining("its key"),
      }),
    );
    expect(verified).toBe(false);
    expect(await storedVersions()).toEqual([1]);
  });

  it("counts a test notification for the credentials under test where those in use have the same key", async () => {
    const { verified, credentialVersion } = await rotate(keyAtGateway);
    expect(verified).toBe(true);
    expect(await storedVersions()).toEqual([1, credentialVersion]);
  });
});

const recordTestNotification = {
  name: "record_test_notification_of_a_test",
  text: `INSERT INTO gateway_notification
           (connection_id, notification_id, kind, attempt_reference, gateway_reference, credential_version, received_at)
         VALUES ($1, $2, 'test', 'verify_late', '', $3, app.clock() - make_interval(mins => $4))`,
};

describe("verifyConnection()", () => {
  it("counts a test notification that arrived too late for the previous verification, but no old one", async () => {
    const { core } = fixture;
    const connectionId = fixture.connectionIds[1]!;
    const merchantAccount = `test_${fixture.owner.merchantId}`;
    const credentials = { apiKey: `sandbox_${merchantAccount}`, merchantAccount, notificationHmacKey: keyAtGateway };
    const credentialVersion = await core.database.transaction((tx) =>
      stageCredentials(tx, core.sealing, { connectionId, credentials }),
    );
    const awaited: VerifyRow = { check: "test_notification", state: "pending", required: true, detail: "" };
    const opened: VerifyRow = { ...awaited, check: "credentials", state: "passed", account: merchantAccount };
    const atB = core.connectorOf("SANDBOX_B")!;
    const connector = Object.assign(Object.create(atB) as Connector, { verify: async () => [opened, awaited] });
    const context = { database: core.database, ring: core.sealing, forwarding: core.vault.forwarding };
    const verify = () =>
      verifyConnection({ ...context, connector, notificationWaitMs: 100 }, { connectionId, credentialVersion });
    await core.database.query(recordTestNotification, [connectionId, "long_ago", credentialVersion, 11]);
    expect(await verify()).toMatchObject({ verified: false });
    await core.database.query(recordTestNotification, [connectionId, "late", credentialVersion, 9]);
    expect(await verify()).toMatchObject({ verified: true });
  });
});
