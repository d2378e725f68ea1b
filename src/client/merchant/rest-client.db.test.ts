import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { startEdgeFixture } from "../../edge/edge.fixture.ts";
import { RestClient } from "./rest-client.ts";
import type { RestError } from "./rest-error.ts";

let cuts = 0;

const restBase = () => `http://127.0.0.1:${edge.port}/api/v1`;

const edge = await forFile(startEdgeFixture);
const client = new RestClient({ restBase: restBase(), secretKey: edge.keys.secret });
/** Forwards to the edge, and cuts the connection after the edge has answered, as often as a test wants. */
const line = await forFile(() => Receiver.start());
line.answerWith(async ({ method, path, body, headers }) => {
  const passed = ["content-type", "idempotency-key"].filter((name) => headers[name] !== undefined);
  const answer = await edge.call(method, path.replace("/api/v1", ""), {
    headers: Object.fromEntries(passed.map((name) => [name, String(headers[name])])),
    ...(body.length > 0 && { body: body.toString() }),
  });
  return cuts-- > 0 ? "reset" : { status: answer.status, body: answer.text };
});
const order = (orderRef: string) => ({ amountMinor: 4900, currency: "EUR", orderRef });

describe("RestClient", () => {
  it("creates a session and reads it", async () => {
    const created = await client.createSession({ ...order("read"), customerEmail: "ada@example.com" });
    expect(created).toMatchObject({ ...order("read"), status: "CREATED", vault: expect.any(Object) });
    const read = await client.getSession(created.sessionId);
    expect(read).toMatchObject({ ...order("read"), customerEmail: "ada@example.com", processing: false, attempts: [] });
    expect(read.expiresAt).toBe(created.expiresAt);
  });

  it("makes one session, even if the answer is lost several times", async () => {
    cuts = 3;
    const flaky = new RestClient({ restBase: `${line.url}/api/v1`, secretKey: edge.keys.secret });
    const created = await flaky.createSession(order("lost"));
    expect(line.requests).toHaveLength(4);
    expect(new Set(line.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    const { paymentSessions } = await client.listSessions({ orderRef: "lost" });
    expect(paymentSessions.map(({ sessionId }) => sessionId)).toEqual([created.sessionId]);
  });

  it("returns the first session to a call with the same key, and refuses a call with other fields", async () => {
    const first = await client.createSession(order("again"), { idempotencyKey: "again-1" });
    expect(await client.createSession(order("again"), { idempotencyKey: "again-1" })).toEqual(first);
    const other = client.createSession(order("other"), { idempotencyKey: "again-1" });
    await expect(other).rejects.toMatchObject({ status: 422, code: "idempotency_key_reused", tries: 1 });
  });

  it("lists a page, and every session page by page", async () => {
    const since = new Date();
    const made = await Promise.all([1, 2, 3, 4, 5].map(() => client.createSession(order("listed"))));
    const ids = made.map(({ sessionId }) => sessionId).toSorted();
    const page = await client.listSessions({ orderRef: "listed", pageSize: 2, status: "CREATED", processing: false });
    expect(page).toMatchObject({ paymentSessions: [{}, {}], nextPageToken: expect.any(String) });
    const seen: string[] = [];
    for await (const session of client.eachSession({ orderRef: "listed", pageSize: 2, createdAfter: since })) {
      expect(session).not.toHaveProperty("attempts");
      seen.push(session.sessionId);
    }
    expect(seen.toSorted()).toEqual(ids);
    expect((await client.listSessions({ orderRef: "listed", createdBefore: since })).paymentSessions).toEqual([]);
  });

  it("reports every problem of an order at once", async () => {
    const error: RestError = await client.createSession({ amountMinor: -1, currency: "XXX", orderRef: "" }).then(
      () => expect.unreachable(),
      (failure) => failure,
    );
    expect(error).toMatchObject({ status: 400, code: "missing_field", tries: 1 });
    expect(error.requestId).toMatch(/^req_/);
    const pointers = error.problems.map(({ pointer }) => pointer);
    expect(pointers.toSorted()).toEqual(["/amountMinor", "/currency", "/orderRef"]);
    expect(pointers).toContain(`/${error.param}`);
    expect(error.message).toBe(`${error.param} is required (and 2 more).`);
  });

  it("reports an invalid key, and a session that does not exist", async () => {
    const stranger = new RestClient({ restBase: restBase(), secretKey: "switchyard_test_sk_nobody" });
    await expect(stranger.getSession("ps_1")).rejects.toMatchObject({ status: 401, code: "invalid_key" });
    await expect(client.getSession("ps_1")).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(client.getSession("..")).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(client.listSessions({ pageSize: 1_000 })).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});
