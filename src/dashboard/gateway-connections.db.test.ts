import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { SandboxControl } from "../dev/testing/sandbox-control.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const sandbox = new SandboxControl(dashboard.sandboxOrigin);
const { scope } = dashboard;

const keyOf = (account: string) => ({ apiKey: `sandbox_test_${account}` });

async function connect(account: string): Promise<string> {
  const added = await client.connections.addGatewayConnection({
    ...scope,
    gateway: "SANDBOX_A",
    account,
    credentials: keyOf(account),
  });
  const connectionId = added.connection!.connectionId!;
  expect(await client.connections.verifyGatewayConnection({ ...scope, connectionId })).toMatchObject({
    verified: true,
  });
  return connectionId;
}

const rotate = (connectionId: string, credentials: Record<string, string>) =>
  client.connections.rotateGatewayCredentials({ ...scope, connectionId, credentials });

const shown = async (wanted: string) =>
  (await client.connections.listGatewayConnections(scope)).connections?.find(
    ({ connectionId }) => connectionId === wanted,
  );

type Version = { version: number; sealed: string; inUse: boolean; dropped: boolean };
const versionsOf = (account: string) =>
  dashboard.rows<Version>(
    `SELECT v.version, v.sealed, v.version = c.credential_version AS "inUse", v.dropped_at IS NOT NULL AS dropped
     FROM connection_credential v JOIN connection c ON c.id = v.connection_id
     WHERE c.account = $1 ORDER BY version`,
    [account],
  );

const auditOf = async (subject: string, action: string) =>
  (
    await dashboard.rows<{ before: object; after: object }>(
      "SELECT before, after FROM audit_entry WHERE subject = $1 AND action = $2 ORDER BY id",
      [subject, action],
    )
  ).map(({ before, after }) => [before, after]);

describe("a pause", () => {
  it("keeps the connection verified, ends by a resumption, and may be repeated; each is audited", async () => {
    const connectionId = await connect("pausing");
    const pause = () => client.connections.pauseGatewayConnection({ ...scope, connectionId });
    const resume = () => client.connections.resumeGatewayConnection({ ...scope, connectionId });
    expect((await pause()).connection).toMatchObject({ connectionId, paused: true, verified: true });
    await pause();
    expect(await shown(connectionId)).toMatchObject({ paused: true, verified: true });
    expect((await resume()).connection).toMatchObject({ paused: false, verified: true });
    expect(await auditOf(connectionId, "PauseGatewayConnection")).toEqual([
      [{ paused: false }, { paused: true }],
      [{ paused: true }, { paused: true }],
    ]);
    expect(await auditOf(connectionId, "ResumeGatewayConnection")).toEqual([[{ paused: true }, { paused: false }]]);
  });

  it("is refused for a connection that does not exist", async () => {
    const connectionId = "gc_01h455vb4pex5vsknk084sn02q";
    await expect(client.connections.pauseGatewayConnection({ ...scope, connectionId })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("a verification", () => {
  it("that fails reports whether its credentials stay in use", async () => {
    const verify = (connectionId: string) => client.connections.verifyGatewayConnection({ ...scope, connectionId });
    const inUse = await connect("losing-rights");
    await sandbox.setAccount("test_losing-rights", { rawCards: false });
    const failed = await verify(inUse);
    expect(failed).toMatchObject({ verified: false, inUse: true });
    expect(failed.checks).toContainEqual(expect.objectContaining({ check: "raw_cards", passed: false }));
    await sandbox.setAccount("test_never-fit", { rawCards: false });
    const credentials = keyOf("never-fit");
    const added = await client.connections.addGatewayConnection({
      ...scope,
      gateway: "SANDBOX_A",
      account: "never-fit",
      credentials,
    });
    expect(await verify(added.connection!.connectionId!)).toMatchObject({ verified: false, inUse: false });
  });
});

describe("a rotation", () => {
  it("replaces the credentials and keeps the old ones for requests in flight", async () => {
    const connectionId = await connect("rotating");
    const answer = await rotate(connectionId, keyOf("rotating-key2"));
    expect(answer).toMatchObject({ verified: true, checks: expect.arrayContaining([expect.anything()]) });
    expect(await versionsOf("rotating")).toMatchObject([
      { version: 1, inUse: false, dropped: false },
      { version: 2, inUse: true, dropped: false },
    ]);
    expect(await auditOf(connectionId, "RotateGatewayCredentials")).toEqual([
      [{ credentialVersion: 1 }, { credentialVersion: 2, tried: 2, verified: true }],
    ]);
    const seen = JSON.stringify([answer, await dashboard.rows("SELECT * FROM audit_entry"), await shown(connectionId)]);
    expect(seen).not.toContain("sandbox_test_");
    expect(JSON.stringify(await versionsOf("rotating"))).not.toContain("sandbox_test_");
  });

  it("changes nothing when a check fails, and stores nothing of the refused credentials", async () => {
    const connectionId = await connect("unmoved");
    await sandbox.setAccount("test_unmoved", { rawCards: false });
    const answer = await rotate(connectionId, keyOf("unmoved-key2"));
    expect(answer.verified).toBe(false);
    expect(answer.checks).toContainEqual(expect.objectContaining({ check: "raw_cards", passed: false }));
    expect(await versionsOf("unmoved")).toMatchObject([
      { version: 1, inUse: true, dropped: false },
      { version: 2, inUse: false, dropped: true, sealed: "" },
    ]);
    await sandbox.setAccount("test_unmoved", { rawCards: true });
    // The next verification uses the credentials of before.
    expect(await client.connections.verifyGatewayConnection({ ...scope, connectionId })).toMatchObject({
      verified: true,
    });
    expect(await rotate(connectionId, keyOf("unmoved-key3"))).toMatchObject({ verified: true });
  });

  it("refuses the key of another account, and says that it needs a connection of its own", async () => {
    const connectionId = await connect("settled");
    const answer = await rotate(connectionId, keyOf("another"));
    expect(answer.verified).toBe(false);
    const detail = expect.stringContaining("Connect the other account as a new connection");
    expect(answer.checks).toContainEqual(expect.objectContaining({ check: "account", passed: false, detail }));
    expect(await versionsOf("settled")).toMatchObject([
      { version: 1, inUse: true },
      { dropped: true, sealed: "" },
    ]);
  });

  it("activates nothing without an audit row", async () => {
    const connectionId = await connect("unwritten");
    await dashboard.rows("ALTER TABLE audit_entry ADD CONSTRAINT no_row CHECK (false) NOT VALID");
    await expect(rotate(connectionId, keyOf("unwritten-key2"))).rejects.toMatchObject({ code: "internal" });
    await dashboard.rows("ALTER TABLE audit_entry DROP CONSTRAINT no_row");
    expect(await versionsOf("unwritten")).toMatchObject([
      { version: 1, inUse: true },
      { version: 2, inUse: false, dropped: true },
    ]);
  });

  it("refuses the other environment's credentials, and malformed ones before it calls any gateway", async () => {
    const connectionId = await connect("elsewhere");
    const live = await rotate(connectionId, { apiKey: "sandbox_live_elsewhere" });
    expect(live.verified).toBe(false);
    expect(live.checks).toContainEqual(expect.objectContaining({ check: "environment", passed: false }));
    const refusal = await rotate(connectionId, { apiKey: "hunter2" }).catch((error: Error) => error);
    expect(refusal).toMatchObject({ code: "invalid_field", problems: [{ param: "credentials.apiKey" }] });
    expect(JSON.stringify(refusal)).not.toContain("hunter2");
    expect(await versionsOf("elsewhere")).toMatchObject([{ version: 1, inUse: true }, { dropped: true }]);
  });
});

describe("unclassified codes", () => {
  it("are listed for their merchant, the latest first", async () => {
    const [attemptId, sessionId] = [crypto.randomUUID(), crypto.randomUUID()];
    await dashboard.rows(
      `INSERT INTO unclassified_code (merchant_id, gateway, gateway_code, attempts, session_id, attempt_id, last_seen_at)
       SELECT c.merchant_id, code.gateway, code.name, code.times, $2, $1, app.clock() + code.later
       FROM (SELECT merchant_id FROM connection LIMIT 1) c, (VALUES
         ('STRIPE', 'odd_one', 2, interval '0'), ('ADYEN', '99', 7, interval '1 s')) AS code (gateway, name, times, later)
       RETURNING 1`,
      [attemptId, sessionId],
    );
    const { codes } = await client.connections.listUnclassifiedCodes(scope);
    expect(codes).toMatchObject([
      { gateway: "ADYEN", gatewayCode: "99", attempts: "7" },
      { gateway: "STRIPE", gatewayCode: "odd_one", attempts: "2", attemptId: expect.stringMatching(/^att_/) },
    ]);
  });
});
