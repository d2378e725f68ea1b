/** Credentials of another account at the gateway that captured: they are refused, and believed about nothing. */
import { afterEach, describe, expect, it } from "vitest";
import { PairHarness } from "../../dev/testing/core/failover-pairs.ts";
import { emulatorAccounts } from "../../dev/testing/emulator-accounts.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { listConnections, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import type { Connector, Gateway } from "../../gateways/connector.ts";
import { rotateCredentials, verifyConnection } from "../../gateways/verify-connection.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { encodeId } from "../../platform/ids.ts";
import { createRefundTurn } from "../../refunds/refund-once.ts";
import { requestRefund } from "../../refunds/request-refund.ts";
import { refundableMinor } from "../rows/payment.ts";
import { drain, replaced } from "./recovery.fixture.ts";

const gateways: readonly Gateway[] = ["STRIPE", "ADYEN", "PAYPAL", "SANDBOX_A", "SANDBOX_B"];

const harness = await forFile(() => PairHarness.start());
afterEach(() => harness.base.setClockAhead(0));

type Paid = Awaited<ReturnType<PairHarness["payAt"]>>;

async function connectionOf({ attempt, owner }: Paid) {
  const connections = await listConnections(harness.core.database, owner.merchantId);
  return connections.find(({ id }) => id === attempt.connectionId)!;
}

const contextOf = (gateway: string) => {
  const { core } = harness;
  const { forwarding } = core.vault;
  return { database: core.database, ring: core.sealing, connector: core.connectorOf(gateway)!, forwarding };
};

async function rotatable(paid: Paid) {
  const { id: connectionId, gateway, credentialVersion } = await connectionOf(paid);
  const verified = await verifyConnection(contextOf(gateway), { connectionId, credentialVersion: credentialVersion! });
  expect(verified.verified).toBe(true);
  return (credentials: Readonly<Record<string, string>>) =>
    rotateCredentials(contextOf(gateway), { connectionId, credentials });
}

/** The account's credentials, under a key of their own where the gateway has several for an account. */
function anotherKeyOf(gateway: Gateway, account: string): Readonly<Record<string, string>> {
  const credentials = emulatorAccounts[gateway].credentials(account);
  if (gateway === "STRIPE") return { secretKey: `${credentials.secretKey}Key2` };
  if (gateway === "ADYEN") return { ...credentials, apiKey: "AQEanotherkeyof/the=emulator" };
  if (gateway === "PAYPAL") return { ...credentials, clientSecret: "AnotherSecretOfTheEmulator" };
  return { ...credentials, apiKey: `${credentials.apiKey}-key2` };
}

describe.each(gateways)("a rotation at %s", (gateway) => {
  it("refuses credentials of another account, and takes a new key of the same one", async () => {
    const paid = await harness.payAt(gateway, { act: "approve" });
    const rotate = await rotatable(paid);
    const before = await connectionOf(paid);
    const refused = await rotate(emulatorAccounts[gateway].credentials(`${before.account}other`));
    expect(refused.verified).toBe(false);
    const detail = expect.stringContaining("Connect the other account as a new connection");
    expect(refused.rows).toContainEqual({ check: "account", state: "failed", required: true, detail });
    expect(await connectionOf(paid)).toEqual(before);
    const taken = await rotate(anotherKeyOf(gateway, before.account));
    // An account at Adyen without credentials for reports has no statements.
    const failed = taken.rows.filter(({ state, check }) => state === "failed" && check !== "settlement");
    expect(failed).toEqual([]);
    expect(taken).toMatchObject({ verified: true });
    expect(await connectionOf(paid)).toMatchObject({ credentialVersion: taken.credentialVersion });
  });
});

describe("a restricted key of STRIPE, which may not read its account", () => {
  it("must find a payment of the connection", async () => {
    const paid = await harness.payAt("STRIPE", { act: "approve" });
    const rotate = await rotatable(paid);
    const { account } = await connectionOf(paid);
    const refused = await rotate({ secretKey: `rk_${account}other` });
    const detail = expect.stringContaining("do not find a payment of this connection");
    expect(refused.rows).toContainEqual({ check: "account", state: "failed", required: true, detail });
    expect(refused.verified).toBe(false);
    expect(await rotate({ secretKey: `rk_${account}` })).toMatchObject({ verified: true });
    // What the restricted key has proved counts for the next one.
    expect(await rotate({ secretKey: `sk_${account}other` })).toMatchObject({ verified: false });
  });
});

describe("credentials that do not show their account", () => {
  const withoutAccount = (gateway: string) => {
    const context = contextOf(gateway);
    const verify: Connector["verify"] = async (call) =>
      (await context.connector.verify(call)).map(({ account: _, ...row }) => row);
    return { ...context, connector: replaced(context.connector, { verify }) };
  };

  it("are refused where the account in use is known and there is no payment to compare", async () => {
    const { owner } = await harness.connect("SANDBOX_A", "SANDBOX_B");
    const [connection] = await listConnections(harness.core.database, owner.merchantId);
    const { id: connectionId, gateway, account, credentialVersion } = connection!;
    await verifyConnection(contextOf(gateway), { connectionId, credentialVersion: credentialVersion! });
    const credentials = emulatorAccounts[gateway as Gateway].credentials(`${account}other`);
    const refused = await rotateCredentials(withoutAccount(gateway), { connectionId, credentials });
    const detail = expect.stringContaining("do not show which account they open");
    expect(refused.rows).toContainEqual({ check: "account", state: "failed", required: true, detail });
    expect(refused.verified).toBe(false);
  });

  it("do not make an earlier account forgotten", async () => {
    const { owner } = await harness.connect("SANDBOX_A", "SANDBOX_B");
    const [connection] = await listConnections(harness.core.database, owner.merchantId);
    const { id: connectionId, gateway, account, credentialVersion } = connection!;
    await verifyConnection(contextOf(gateway), { connectionId, credentialVersion: credentialVersion! });
    const { core } = harness;
    const use = (name: string, shown?: string) =>
      core.database.transaction(async (tx) => {
        const credentials = emulatorAccounts[gateway as Gateway].credentials(name);
        const version = await stageCredentials(tx, core.sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion: version, account: shown });
      });
    await use(account);
    const credentials = emulatorAccounts[gateway as Gateway].credentials(`${account}other`);
    expect(await rotateCredentials(contextOf(gateway), { connectionId, credentials })).toMatchObject({
      verified: false,
    });
    await expect(use(`${account}other`, `${account}other`)).rejects.toThrow("open one account");
  });
});

describe("PostgreSQL", () => {
  it("refuses to use credentials of another account for a connection", async () => {
    const paid = await harness.payAt("SANDBOX_A", { act: "approve" });
    await rotatable(paid);
    const { id: connectionId } = await connectionOf(paid);
    const { core } = harness;
    const swap = core.database.transaction(async (tx) => {
      const credentials = { apiKey: "sandbox_test_otheraccount" };
      const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion, account: "test_otheraccount" });
    });
    await expect(swap).rejects.toThrow("the credentials of a connection open one account");
  });
});

describe.each(gateways)("a refund at %s whose answer is lost", (gateway) => {
  it("is ended by no other account, and made once", async () => {
    const paid = await harness.payAt(gateway, { act: "approve", refund: "lose_answer" });
    const { core, base } = harness;
    const { id: sessionId, merchantId } = paid.session;
    const { id: connectionId, account } = await connectionOf(paid);
    const use = (of: string) =>
      core.database.transaction(async (tx) => {
        const credentials = emulatorAccounts[gateway].credentials(of);
        const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion });
      });
    const workAfter = async (minutes: number) => {
      await base.setClockAhead(minutes);
      await drain(createRefundTurn(core));
      return base.loadSession(paid.session);
    };
    const lost = {
      operation: `${emulatorAccounts[gateway].acquirer.toLowerCase()}.lost-refund`,
      reference: encodeId("att", paid.attempt.id),
    };
    const requested = requestRefund(core, { sessionId, merchantId, key: "lost", amountMinor: 2000 });
    await base.sandbox.paused(lost);
    // The connection ends without an answer, before its time has passed.
    await base.sandbox.release(lost);
    await requested;
    // As an installation may have done before rotations compared accounts.
    await use(`${account}other`);
    const foreign = await workAfter(10);
    expect(foreign.refunds).toMatchObject([{ status: "REQUESTED", sends: 2 }]);
    expect(refundableMinor(foreign)).toBe(2900);
    await use(account);
    while (await processNotificationsOnce(core));
    const own = await workAfter(30);
    expect(["PENDING", "SUCCEEDED"]).toContain(own.refunds[0]!.status);
    const [payment] = await base.sandbox.authorizations(encodeId("att", paid.attempt.id));
    expect(payment!.refunds).toMatchObject([{ value: 2000 }]);
  });
});
