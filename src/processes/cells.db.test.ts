import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { returnTokenOf } from "../core/customer-actions.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { withClient } from "../dev/testing/with-client.ts";
import type { EdgeEnvironment } from "../edge/caller.ts";
import { createNotificationIntake } from "../edge/gateway-notifications.ts";
import { registerEndpoint, verifyEndpoint } from "../events/endpoints.ts";
import { recordConnection } from "../gateways/connections.ts";
import { cellOf, inCell } from "../platform/cells.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startCellsFixture } from "./cells.fixture.ts";

const cells = await forFile(startCellsFixture);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
const cellOfSession = (id: string) => cellOf(decodeId("ps", id)!);

async function addMerchant(cell?: number) {
  const made = await cells.operate(({ merchants }) => merchants.createMerchant({ name: "Corner Coffee" }), cell);
  return { merchantId: made.merchant!.merchantId!, key: made.keys![0]!.secretKey! };
}

async function createSession(key: string, idempotencyKey?: string): Promise<string> {
  const { status, json } = await cells.call(key, "", order, idempotencyKey);
  expect({ status, json }).toMatchObject({ status: 201 });
  return json.sessionId;
}

async function countSessions(ownerUrl: string, merchantId: string): Promise<number> {
  const text = "SELECT count(*)::int AS count FROM payment_session WHERE merchant_id = $1";
  const [row] = await asOwner<{ count: number }>(ownerUrl, text, [decodeId("mer", merchantId)]);
  return row!.count;
}

async function asOwner<Row extends object>(url: string, text: string, values: readonly unknown[] = []) {
  return (await withClient(url, (client) => client.query<Row>(text, [...values]))).rows;
}

describe("SWITCHYARD_BRAND", () => {
  it("cannot change once there are keys: the process refuses to start, and says so", async () => {
    const { key } = await addMerchant();
    expect(key).toMatch(/^switchyard_test_sk_/);
    await expect(cells.open("acmepay")).rejects.toThrow(
      "SWITCHYARD_BRAND is acmepay, but every key in test begins with switchyard_ and would be refused. Set SWITCHYARD_BRAND=switchyard: the brand cannot change once there are keys.",
    );
  });
});

/** Returns the SQL by which an attempt of a created session asks for its customer, who has an hour. */
const askCustomer = ({ sessionId, id }: { sessionId: string; id: string }) => `BEGIN;
  UPDATE payment_session SET phase = 'PROCESSING', lease_epoch = 1, lease_until = now() + interval '1 h', vault_token = 't',
    submit_deadline = now() + interval '45 s', submitted_at = now() WHERE id = '${sessionId}';
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, latest_execution_at)
    VALUES ('${sessionId}', '${id}', 1, 'SANDBOX_A', '${id}', 1, 1, 'why', 4900, 'EUR', now() + interval '1 h');
  INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, holds_only_when_asked, action_life_ms, deadline_at)
    VALUES ('${sessionId}', '${id}', 1, '${id}', '${id}', 'why', true, 0, now() + interval '1 h');
  UPDATE attempt SET status = 'AWAITING_CUSTOMER', next_retry_at = now() + interval '1 h' WHERE id = '${id}';
  UPDATE payment_session SET awaiting_since = now(), authentications = 1 WHERE id = '${sessionId}'; COMMIT`;

const moveTo = (merchantId: string, toCell: number) =>
  cells.operate(({ merchants }) => merchants.moveMerchant({ merchantId, environment: "ENVIRONMENT_TEST", toCell }));

describe("two cells of an environment", () => {
  it("create each merchant's sessions in its own cell, which the id names", async () => {
    const [one, two] = [await addMerchant(), await addMerchant(2)];
    const [first, second] = [await createSession(one.key), await createSession(two.key)];
    expect([cellOfSession(first), cellOfSession(second)]).toEqual([1, 2]);
    expect(await countSessions(cells.owner.first, one.merchantId)).toBe(1);
    expect(await countSessions(cells.owner.second, two.merchantId)).toBe(1);
    expect((await cells.call(two.key, `/${second}`)).json).toMatchObject({ sessionId: second });
    // Another merchant's session is not found, whichever cell it is in.
    expect((await cells.call(one.key, `/${second}`)).status).toBe(404);
    expect((await cells.call(two.key, "")).json.paymentSessions).toHaveLength(1);
  });

  it("take a customer's return in the cell of the session, which the return address names", async () => {
    const { key } = await addMerchant(2);
    const sessionId = decodeId("ps", await createSession(key))!;
    const attempt = { sessionId, id: systemRuntime.uuid() };
    await asOwner(cells.owner.second, askCustomer(attempt));
    const { core } = cells.installation.environments[0]!;
    await fetch(`${cells.origin}/authentication/test/return/${returnTokenOf(core, attempt)}`);
    const text = "SELECT lease_epoch AS epoch FROM payment_session WHERE id = $1";
    await expect.poll(() => asOwner(cells.owner.second, text, [sessionId])).toEqual([{ epoch: 2 }]);
  });

  it("replace a session that was made before its merchant moved, once, also after a creation that failed", async () => {
    const { merchantId, key } = await addMerchant();
    const [old, lost] = [await createSession(key), await createSession(key)];
    await moveTo(merchantId, 2);
    const replace = (replaces: string, idempotencyKey: string) =>
      cells.call(key, "", { ...order, amountMinor: 5900, replaces }, idempotencyKey);
    const created = await replace(old, "first");
    expect([created.status, cellOfSession(created.json.sessionId)]).toEqual([201, 2]);
    expect((await replace(old, "first")).json).toEqual(created.json);
    expect(await replace(old, "second")).toMatchObject({
      status: 409,
      json: { code: "session_replaced", state: { expiredBecause: "REPLACED", replacedBy: created.json.sessionId } },
    });
    // The process died between the two commits.
    const named = inCell(systemRuntime.uuid(), 2);
    const end = `UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = now(), expired_because = 'REPLACED',
      replaced_by = $2 WHERE id = $1`;
    await asOwner(cells.owner.first, end, [decodeId("ps", lost), named]);
    const resumed = await replace(lost, "third");
    expect(resumed).toMatchObject({ status: 201, json: { sessionId: encodeId("ps", named), amountMinor: 5900 } });
    expect((await replace(lost, "fourth")).json.code).toBe("session_replaced");
    expect(await countSessions(cells.owner.second, merchantId)).toBe(2);
  });

  it("list themselves with their merchants", async () => {
    const { cells: listed } = await cells.operate(({ merchants }) => merchants.listCells({}));
    expect(listed).toMatchObject([
      { cell: 1, available: true },
      { cell: 2, available: true },
    ]);
    expect(listed![1]!.merchants).toBeGreaterThan(0);
  });

  it("answer 503 only for merchants of a cell whose database is lost, and deliver the other's webhooks", async () => {
    const [one, two] = [await addMerchant(), await addMerchant(2)];
    const receiver = await Receiver.start();
    const { endpoints } = cells.installation.environments[0]!;
    const merchantId = decodeId("mer", one.merchantId)!;
    const { endpoint } = await registerEndpoint(endpoints, { merchantId, url: `${receiver.url}/hook` });
    expect(await verifyEndpoint(endpoints, { merchantId, endpointId: endpoint.id })).toMatchObject({ verified: true });
    cells.cutSecond();
    try {
      expect(await cells.call(two.key, "", order)).toMatchObject({ status: 503, json: { code: "unavailable" } });
      const sessionId = await createSession(one.key);
      expect(await cells.isReady()).toBe(200);
      await asOwner(cells.owner.first, "UPDATE payment_session SET expires_at = app.clock() WHERE id = $1", [
        decodeId("ps", sessionId),
      ]);
      await receiver.waitFor(({ body }) => body.includes(sessionId) && body.includes("payment_session.expired"));
      const restarted = await cells.open();
      await restarted.close();
      const { cells: listed } = await cells.operate(({ merchants }) => merchants.listCells({}));
      expect(listed).toMatchObject([{ available: true }, { available: false }]);
    } finally {
      cells.restoreSecond();
      await receiver.close();
    }
    await vi.waitFor(async () => expect((await cells.call(two.key, "", order)).status).toBe(201), 10_000);
  });
});

describe("a merchant that moves to another cell", () => {
  it("creates its sessions there, keeps the earlier ones, and is answered under both keys", async () => {
    const { merchantId, key } = await addMerchant();
    const [before, keyed] = [await createSession(key), await createSession(key, "once")];
    expect(await moveTo(merchantId, 2)).toEqual({ fromCell: 1, toCell: 2 });
    expect(await moveTo(merchantId, 2)).toEqual({ fromCell: 2, toCell: 2 });
    const after = await createSession(key);
    expect([before, after].map(cellOfSession)).toEqual([1, 2]);
    const repeated = await cells.call(key, "", order, "once");
    expect(repeated.json.sessionId).toBe(keyed);
    expect(repeated.headers.get("idempotent-replayed")).toBe("true");
    expect(await countSessions(cells.owner.second, merchantId)).toBe(1);
    const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
    const renewed = await cells.operate(({ apiKeys }) => apiKeys.regenerateApiKey({ ...scope, kind: "SECRET" }));
    expect((await cells.call(key, "")).status).toBe(401);
    expect((await cells.call(renewed.key!, `/${before}`)).status).toBe(200);
    const page = await cells.call(renewed.key!, "?pageSize=2");
    expect(page.json.paymentSessions.map((one: { sessionId: string }) => one.sessionId)).toEqual([after, keyed]);
    const last = await cells.call(renewed.key!, `?pageSize=2&pageToken=${page.json.nextPageToken}`);
    expect(last.json.paymentSessions.map((one: { sessionId: string }) => one.sessionId)).toEqual([before]);
  });

  it("gets its gateways' notifications in both cells, by the address that the gateways know", async () => {
    const { merchantId } = await addMerchant();
    const merchant = decodeId("mer", merchantId)!;
    const [first, second] = cells.installation.environments;
    const connection = {
      id: first!.core.runtime.uuid(),
      merchantId: merchant,
      gateway: "SANDBOX_B",
      account: "test_a",
    };
    await first!.database.transaction((tx) => recordConnection(tx, connection));
    const taken: number[] = [];
    const served = new Map<number, EdgeEnvironment>();
    for (const one of [first!, second!]) {
      const takeNotification = async (_: string, read: () => Promise<{ body: Uint8Array }>) => {
        expect(Buffer.from((await read()).body).toString()).toBe("signed");
        if (one === first) throw new DomainError("invalid_key", "These credentials are older.");
        taken.push(one.cell);
      };
      served.set(one.cell, { ...one, takeNotification, cells: served });
    }
    const intake = createNotificationIntake({ test: served.get(1)! }, () => undefined);
    const server = createServer((request, response) => {
      intake(request, response).catch((error) => response.writeHead(500).end(error.code));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const notify = async () => {
      const path = `/gateway-notifications/test/${encodeId("gc", connection.id)}`;
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: "signed" });
      return [response.status, await response.text()];
    };
    expect(await notify()).toEqual([500, "invalid_key"]);
    await moveTo(merchantId, 2);
    expect(await notify()).toEqual([200, "[accepted]"]);
    expect(taken).toEqual([2]);
    // A gateway repeats what one of the cells could not take.
    cells.cutSecond();
    expect(await notify().finally(() => cells.restoreSecond())).toMatchObject([
      500,
      expect.not.stringContaining("accepted"),
    ]);
  });

  it("takes its statement descriptor and its rule for authentication along, for its new sessions", async () => {
    const { merchantId, key } = await addMerchant();
    const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
    await cells.operate((client) =>
      client.settings.setStatementDescriptor({ ...scope, statementDescriptor: "Acme Books" }),
    );
    const rule = `INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on, authentication)
      VALUES ($1, 1, '{}', '{}', 'ALWAYS')`;
    await asOwner(cells.owner.first, rule, [decodeId("mer", merchantId)]);
    await moveTo(merchantId, 2);
    const { routingRule } = await cells.operate((client) => client.routingRules.getRoutingRule(scope), 2);
    expect(routingRule).toMatchObject({ version: 1, authentication: "ALWAYS" });
    const sessionId = await createSession(key);
    expect(cellOfSession(sessionId)).toBe(2);
    expect((await cells.call(key, `/${sessionId}`)).json).toMatchObject({ statementDescriptor: "Acme Books" });
  });

  it("does not return to a cell that it has left, which takes no changes of what only new sessions use", async () => {
    const { merchantId } = await addMerchant(2);
    await moveTo(merchantId, 1);
    await expect(moveTo(merchantId, 2)).rejects.toMatchObject({ code: "state_conflict" });
    const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
    const { settings, ...shown } = await cells.operate((client) => client.settings.getSettings(scope), 2);
    expect(shown).toEqual({ cell: 2, cells: [1, 2] });
    const change = { ...scope, sessionLifetimeSeconds: 600, revision: settings!.revision! };
    await expect(cells.operate((client) => client.settings.setSessionLifetime(change), 2)).rejects.toMatchObject({
      code: "state_conflict",
    });
  });

  it("creates one session for a key that is used in both cells at the moment of the move", async () => {
    const { merchantId, key } = await addMerchant();
    const calls = Array.from({ length: 40 }, (_, index) => `race-${index}`);
    const used = calls.map(async (idempotencyKey, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 3));
      const ids = new Set<string>();
      for (let tries = 0; tries < 4; tries++) {
        const { status, json } = await cells.call(key, "", order, idempotencyKey);
        if (status === 201) ids.add(json.sessionId);
        else expect(json.code).toBe("idempotency_in_progress");
      }
      return ids;
    });
    await new Promise((resolve) => setTimeout(resolve, 40));
    await moveTo(merchantId, 2);
    for (const ids of await Promise.all(used)) expect(ids.size).toBe(1);
    const counts = [cells.owner.first, cells.owner.second].map((url) => countSessions(url, merchantId));
    expect((await Promise.all(counts)).reduce((sum, count) => sum + count)).toBe(calls.length);
  });
});
