import { describe, expect, it } from "vitest";
import { generateKey, recordKey } from "../accounts/api-keys.ts";
import { issueKey } from "../accounts/issue-keys.ts";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { recordRepeatedOrders } from "../core/orders/repeated-orders.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { startLimitedEdge } from "../dev/testing/edge/limited-edge.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { requestLimitBounds } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const hourMs = 3_600_000;
const limit = { perSecond: requestLimitBounds.perSecond.max, burst: requestLimitBounds.burst.max };

const edge = await forFile(startEdgeFixture);
await edge.core.setRule(["HARD_DECLINE"]);
edge.core.useCard(cards.approved);
const served = await forFile(() => startLimitedEdge(edge, limit, { holdMs: hourMs }));

async function post(path: string, bearer: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${served.publicOrigin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: await response.json() };
}

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1042" };
const create = (key = edge.keys.secret, fields: object = {}) =>
  post("/api/v1/payment-sessions", key, { ...order, ...fields });
const checkout = (
  name: string,
  { json }: Pick<Awaited<ReturnType<typeof create>>, "json">,
  headers?: Record<string, string>,
) => {
  const opened = { "publishable-key": json.vault.publishableKey, ...headers };
  const body = { sessionId: json.sessionId, ...(name === "SubmitPayment" && { vaultToken: "tok_1" }) };
  return post(`/payments.v1.CheckoutService/${name}`, json.clientSecret, body, opened);
};

const createElsewhere = () => edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) });

it.each([
  [
    "the session, where another process has created and shown it",
    createElsewhere,
    ["select_charged_session", "select_checkout"],
  ],
  ["nothing, where this one has created it", create, []],
  [
    "nothing, where this one has shown it",
    async () => {
      const session = await createElsewhere();
      await checkout("GetCheckout", session);
      return session;
    },
    [],
  ],
])("reads %s, before the claim of a payment like the one before", async (_, open, read) => {
  await checkout("SubmitPayment", await create());
  const statements = async () => {
    const session = await open();
    const before = served.statements.length;
    expect((await checkout("SubmitPayment", session)).json.checkout).toMatchObject({ status: "SUCCEEDED" });
    return served.statements.slice(before);
  };
  // On a busy machine a payment is also polled, after its claim.
  await expect.poll(statements, { timeout: 20_000 }).toEqual([...read, "claim", "held", "captured"]);
});

type Session = Pick<Awaited<ReturnType<typeof create>>, "json">;
const attemptsOf = async ({ json }: Session) =>
  (await edge.core.loadSession({ id: decodeId("ps", json.sessionId)! })).attempts.length;

describe("a session that changes after this process has created it", () => {
  const { merchantId } = edge.core.owner;
  const inTransaction = (change: (tx: Tx) => Promise<unknown>) => edge.core.core.database.transaction(change);

  it("takes no card from a page whose origin is no longer registered", async () => {
    const session = await create();
    const origins = async (checkoutOrigins: string[]) => {
      const settings = { ...edge.core.owner, checkoutOrigins, publishableKey: edge.keys.publishable };
      await inTransaction((tx) => recordSettings(tx, settings));
    };
    await origins(["https://other.example"]);
    expect(await checkout("SubmitPayment", session, { origin: "https://shop.example" })).toMatchObject({ status: 403 });
    expect(await attemptsOf(session)).toBe(0);
    // A page that was not allowed when the session was created.
    const other = await create();
    await origins(["https://new.example"]);
    const submitted = await checkout("SubmitPayment", other, { origin: "https://new.example" });
    expect(submitted.json.checkout).toMatchObject({ status: "SUCCEEDED" });
    await origins([]);
  });

  it("shows its state to no page whose origin is no longer registered, when another process has submitted it", async () => {
    const session = await create();
    const settings = { ...edge.core.owner, publishableKey: edge.keys.publishable };
    await edge.core.submitWith(
      { id: decodeId("ps", session.json.sessionId)! },
      { number: cards.approved, token: "tok_1" },
    );
    await inTransaction((tx) => recordSettings(tx, { ...settings, checkoutOrigins: ["https://other.example"] }));
    expect(await checkout("SubmitPayment", session, { origin: "https://shop.example" })).toMatchObject({ status: 403 });
    await inTransaction((tx) => recordSettings(tx, { ...settings, checkoutOrigins: [] }));
    expect((await checkout("SubmitPayment", session)).json.checkout).toMatchObject({ status: "SUCCEEDED" });
  });

  it("takes no card while another session has its order, once its merchant refuses that", async () => {
    const orderRef = `order-${systemRuntime.uuid()}`;
    const [one, other] = [await create(edge.keys.secret, { orderRef }), await create(edge.keys.secret, { orderRef })];
    expect((await checkout("SubmitPayment", one)).json.checkout).toMatchObject({ status: "SUCCEEDED" });
    await inTransaction((tx) => recordRepeatedOrders(tx, merchantId, "REFUSE"));
    const { json } = await checkout("SubmitPayment", other);
    expect(json.checkout).toMatchObject({
      status: "DECLINED",
      outcome: { decline: { declineCode: "order_already_paid" } },
    });
    expect(await attemptsOf(other)).toBe(0);
    await inTransaction((tx) => recordRepeatedOrders(tx, merchantId, "WARN"));
  });

  it("reads nothing before the claim where its merchant refuses repeated orders and no other session has this one", async () => {
    await inTransaction((tx) => recordRepeatedOrders(tx, merchantId, "REFUSE"));
    const order = () => create(edge.keys.secret, { orderRef: `order-${systemRuntime.uuid()}` });
    await checkout("SubmitPayment", await order());
    const statements = async () => {
      const session = await order();
      const before = served.statements.length;
      expect((await checkout("SubmitPayment", session)).json.checkout).toMatchObject({ status: "SUCCEEDED" });
      return served.statements.slice(before);
    };
    await expect.poll(statements, { timeout: 20_000 }).toEqual(["claim", "held", "captured"]);
    await inTransaction((tx) => recordRepeatedOrders(tx, merchantId, "WARN"));
  });

  it("takes no card after its merchant has cancelled it", async () => {
    const session = await create();
    expect((await edge.call("POST", `/payment-sessions/${session.json.sessionId}/cancel`)).status).toBe(200);
    const { status, json } = await checkout("SubmitPayment", session);
    expect([status, json.message]).toEqual([400, expect.stringContaining("cancelled")]);
    expect(await attemptsOf(session)).toBe(0);
  });
});

it("refuses a page at once when its origin is no longer registered", async () => {
  const session = await create();
  const at = (origin: string) => checkout("GetCheckout", session, { origin });
  const record = (checkoutOrigins: string[]) =>
    edge.core.core.database.transaction((tx) =>
      recordSettings(tx, { ...edge.core.owner, checkoutOrigins, publishableKey: edge.keys.publishable }),
    );
  expect((await at("https://shop.example")).status).toBe(200);
  await record(["https://other.example"]);
  expect(await at("https://shop.example")).toMatchObject({ status: 403 });
  expect((await at("https://other.example")).status).toBe(200);
});

it("reads the publishable key with the session, and refuses an open form at once when it is replaced", async () => {
  const { merchantId } = edge.core.owner;
  const [open, paid] = [await create(), await create()];
  expect((await checkout("SubmitPayment", paid)).status).toBe(200);
  const before = served.statements.length;
  expect((await checkout("GetCheckout", open)).status).toBe(200);
  // The networks of cards are read for the form.
  expect(served.statements.slice(before).filter((name) => !name.startsWith("select_card"))).toEqual([
    "select_checkout",
  ]);
  const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
  const replaced = await edge.core.core.database.transaction((tx) =>
    issueKey(tx, maker, { merchantId, kind: "publishable" }),
  );
  for (const name of ["GetCheckout", "SubmitPayment"]) {
    const refused = await checkout(name, open);
    expect([name, refused.status, refused.json.details[0].debug.reason]).toEqual([name, 401, "INVALID_KEY"]);
  }
  expect((await checkout("GetCheckout", open, { "publishable-key": replaced.expose() })).status).toBe(200);
  expect((await checkout("GetCheckout", paid)).status).toBe(200);
  expect((await checkout("GetCheckout", await create())).status).toBe(200);
});

it("refuses a key at once when it is revoked, however long other reads are held", async () => {
  expect((await create()).status).toBe(201);
  const { merchantId } = edge.core.owner;
  const secret = generateKey(systemRuntime, { brand: "switchyard", environment: "test", kind: "secret" });
  const id = systemRuntime.uuid();
  await edge.core.core.database.transaction((tx) => recordKey(tx, { id, merchantId, kind: "secret", secret }));
  expect(await create()).toMatchObject({ status: 401, json: { code: "invalid_key" } });
  expect((await create(secret.expose())).status).toBe(201);
});
