import { describe, expect, it } from "vitest";
import { cards } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1", customerEmail: "ada@shop.example" };
const personal = {
  customerName: "Ada Lovelace",
  billingAddress: { line1: "Hauptstraße 1", line2: "2nd floor", city: "Berlin", postalCode: "10115", country: "DE" },
};
const details = { ...personal, metadata: { cart: "c-881", note: "" }, statementDescriptor: "Acme Books" };

const create = (fields: object, key: string = systemRuntime.uuid()) =>
  edge.call("POST", "/payment-sessions", {
    body: JSON.stringify({ ...order, ...fields }),
    headers: { "idempotency-key": key },
  });
const read = async (sessionId: string) => (await edge.call("GET", `/payment-sessions/${sessionId}`)).json;

describe("the details of an order", () => {
  it("are returned by reading and by lists, and not by the creation", async () => {
    const created = (await create(details)).json;
    for (const name of Object.keys(details)) expect(created).not.toHaveProperty(name);
    expect(await read(created.sessionId)).toMatchObject(details);
    const listed = (await edge.call("GET", "/payment-sessions?pageSize=1")).json.paymentSessions[0];
    expect(listed).toMatchObject({ sessionId: created.sessionId, ...details });
  });

  it("are absent where they were not given, and need no row of their own", async () => {
    const { sessionId } = (await create({ metadata: {} })).json;
    const session = await read(sessionId);
    expect(session.metadata).toEqual({});
    for (const name of ["customerName", "billingAddress", "statementDescriptor"])
      expect(session).not.toHaveProperty(name);
    const text = "SELECT details FROM payment_session WHERE id = $1";
    const rows = await edge.core.core.database.query({ name: "details", text }, [decodeId("ps", sessionId)!]);
    expect(rows).toEqual([{ details: null }]);
  });

  it("are in events without the customer's data", async () => {
    const { sessionId } = (await create(details)).json;
    const id = decodeId("ps", sessionId)!;
    await edge.core.submit({ id }, cards.approved);
    const text = "SELECT convert_from(body, 'UTF8') AS written FROM outbox_event WHERE session_id = $1";
    const [row] = await edge.core.core.database.query<{ written: string }>({ name: "written", text }, [id]);
    const { written } = row!;
    expect(written).toContain("c-881");
    expect(written).toContain("Acme Books");
    for (const secret of ["Lovelace", "Hauptstra", "10115", "ada@shop"]) expect(written).not.toContain(secret);
  });
});

describe("a repeat with the same Idempotency-Key", () => {
  it("returns the first session when keys stand in another order", async () => {
    const key = systemRuntime.uuid();
    const first = await create({ metadata: { a: "1", b: "2" }, ...personal }, key);
    const { line1, ...rest } = personal.billingAddress;
    const turned = {
      customerName: personal.customerName,
      billingAddress: { ...rest, line1 },
      metadata: { b: "2", a: "1" },
    };
    expect((await create(turned, key)).text).toBe(first.text);
  });

  it.each([
    ["another name", { ...details, customerName: "Ada" }],
    ["another line", { ...details, billingAddress: { ...personal.billingAddress, line2: undefined } }],
    ["another country", { ...details, billingAddress: { ...personal.billingAddress, country: "AT" } }],
    ["another value", { ...details, metadata: { cart: "c-882", note: "" } }],
    ["another key", { ...details, metadata: { ...details.metadata, extra: "" } }],
    ["another descriptor", { ...details, statementDescriptor: "Acme Music" }],
    ["no details", {}],
  ])("is refused with %s", async (_, other) => {
    const key = systemRuntime.uuid();
    await create(details, key);
    const refused = await create(other, key);
    expect([refused.status, refused.json.code]).toEqual([422, "idempotency_key_reused"]);
  });
});

describe("the merchant's statement descriptor", () => {
  const set = (text: string | null) =>
    edge.core.core.database.query(
      { name: "descriptor", text: "UPDATE merchant_settings SET statement_descriptor = $2 WHERE merchant_id = $1" },
      [edge.core.owner.merchantId, text],
    );

  it("is that of sessions that name none, from their creation on, and part of no order", async () => {
    const key = systemRuntime.uuid();
    const before = await create({}, key);
    await set("Corner Coffee");
    const { sessionId } = (await create({})).json;
    expect((await create({}, key)).text).toBe(before.text);
    await set("Corner Tea");
    expect(await read(sessionId)).toMatchObject({ statementDescriptor: "Corner Coffee" });
    expect(await read((await create(details)).json.sessionId)).toMatchObject({ statementDescriptor: "Acme Books" });
    await set(null);
    expect(await read((await create({})).json.sessionId)).not.toHaveProperty("statementDescriptor");
  });
});
