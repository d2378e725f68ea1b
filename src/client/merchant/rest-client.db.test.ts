/** Tests filters by time, and refusals of keys and pages, which the scenario of all clients (../scenario) leaves out. */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startEdgeFixture } from "../../edge/edge.fixture.ts";
import { RestClient } from "./rest-client.ts";

const restBase = () => `http://127.0.0.1:${edge.port}/api/v1`;

const edge = await forFile(startEdgeFixture);
const client = new RestClient({ restBase: restBase(), secretKey: edge.keys.secret });
const order = (orderRef: string) => ({ amountMinor: 4900, currency: "EUR", orderRef });

describe("RestClient", () => {
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

  it("reports an invalid key, and a session that does not exist", async () => {
    const stranger = new RestClient({ restBase: restBase(), secretKey: "switchyard_test_sk_nobody" });
    await expect(stranger.getSession("ps_1")).rejects.toMatchObject({ status: 401, code: "invalid_key" });
    await expect(client.getSession("ps_1")).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(client.getSession("..")).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(client.listSessions({ pageSize: 1_000 })).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});
