import { describe, expect, it } from "vitest";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import type { Restrictions } from "../accounts/api-keys.ts";
import { createRestrictedKey } from "../accounts/restricted-keys.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const edge = await forFile(startEdgeFixture);
const { core: fixture } = edge;
const { core } = fixture;
await fixture.setRule([], [fixture.connectionIds[0]!]);

/** A disputed payment at SANDBOX_A. */
async function disputed(name = "Disputed") {
  await fixture.sandbox.setClockAhead(0);
  const session = await fixture.newSession();
  await fixture.submit(session, disputeCards.find((card) => card.name === name)!.number);
  await Promise.all(core.inFlight);
  await fixture.sandbox.setClockAhead(6_000);
  await fixture.asOwner.query({ name: "forget_feeds", text: "DELETE FROM gateway_feed" }, []);
  while (await readFeedOnce(core));
  const { id } = (await fixture.loadSession(session)).disputes![0]!;
  return { path: `/disputes/${encodeId("dsp", id)}`, session: `/payment-sessions/${encodeId("ps", session.id)}` };
}
const post = (path: string, body?: object, headers: Record<string, string> = {}) =>
  edge.call("POST", path, { ...(body && { body: JSON.stringify(body) }), headers });
const pdf = (bytes: number) => Buffer.concat([Buffer.from("%PDF-1.4"), Buffer.alloc(bytes - 8)]).toString("base64");
const receipt = { name: "receipt.pdf", contentType: "application/pdf", content: pdf(20) };

async function keyWith(rights: readonly string[], more: Partial<Restrictions> = {}) {
  const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
  const restrictions = { name: "Back office", rights, expiresAt: null, refundCap: null, ...more };
  const { merchantId } = fixture.owner;
  const made = await core.database.transaction((tx) => createRestrictedKey(tx, maker, { merchantId, ...restrictions }));
  return { authorization: `Bearer ${made.secret.expose()}` };
}

describe("evidence over REST", () => {
  it("is offered, prepared and submitted, once", async () => {
    const { path, session } = await disputed();
    const options = await edge.call("GET", `${path}/response-options`);
    expect(options.json).toMatchObject({ accept: true, takesExplanation: true });
    const file = await post(`${path}/files`, receipt);
    expect([file.status, file.json]).toEqual([201, { ...receipt, content: undefined, ...file.json }]);
    expect(file.json).not.toHaveProperty("content");
    const facts = await edge.call("GET", `${path}/facts`);
    expect(Buffer.from(facts.json.content, "base64").subarray(0, 8).toString()).toBe("%PDF-1.4");
    expect((await edge.call("GET", `${path}/facts`)).text).toBe(facts.text);
    const evidence = {
      explanation: "winning_evidence",
      shipping: { carrier: "DHL", trackingNumber: "00340434161094042557", shippedOn: "2026-03-02" },
      files: [
        { file: "facts", type: "other" },
        { file: file.json.fileId, type: "receipt" },
      ],
    };
    const first = await post(`${path}/evidence`, evidence);
    expect([first.status, first.json]).toMatchObject([
      201,
      { status: "UNDER_REVIEW", responses: [{ status: "TAKEN" }] },
    ]);
    const again = await post(`${path}/evidence`, evidence);
    expect([again.status, again.json]).toEqual([201, first.json]);
    expect((await edge.call("GET", session)).json.disputes).toEqual([first.json]);
    const other = await post(`${path}/evidence`, { ...evidence, explanation: "More" });
    expect([other.status, other.json.code]).toEqual([409, "evidence_already_submitted"]);
    const late = await post(`${path}/files`, receipt);
    expect([late.status, late.json]).toMatchObject([
      409,
      { code: "response_closed", state: { status: "UNDER_REVIEW" } },
    ]);
  });

  it("has fields with bounds, each named", async () => {
    const { path } = await disputed();
    const refused = async (body: object, to = "evidence") => {
      const { status, json } = await post(`${path}/${to}`, body);
      return [status, json.code, json.param ?? json.errors?.[0]?.param];
    };
    expect(await refused({ explanation: "x".repeat(2_001) })).toEqual([400, "invalid_field", "explanation"]);
    expect(await refused({ explanation: "4242 4242 4242 4242" })).toEqual([400, "invalid_field", "explanation"]);
    expect(await refused({ files: [{ file: "facts", type: "selfie" }] })).toEqual([
      422,
      "not_offered",
      "files[0].type",
    ]);
    expect(await refused({ ...receipt, name: "../a.pdf" }, "files")).toEqual([400, "invalid_field", "name"]);
    expect(await refused({ ...receipt, contentType: "text/html" }, "files")).toEqual([
      400,
      "invalid_field",
      "contentType",
    ]);
    expect(await refused({ ...receipt, content: btoa("<html>") }, "files")).toEqual([400, "invalid_field", "content"]);
  });

  it("has files of 2 MiB, which no other body may be as long as, and no longer ones", async () => {
    const { path } = await disputed();
    const whole = { ...receipt, content: pdf(2 * 1024 * 1024) };
    expect((await post(`${path}/files`, whole)).status).toBe(201);
    const over = await post(`${path}/files`, { ...receipt, content: pdf(2 * 1024 * 1024 + 1) });
    expect([over.status, over.json.param]).toEqual([400, "content"]);
    expect((await post(`${path}/files`, { ...receipt, content: pdf(3 * 1024 * 1024) })).status).toBe(413);
    expect((await post(`${path}/evidence`, { explanation: "x".repeat(70_000) })).status).toBe(413);
  });
});

describe("an acceptance over REST", () => {
  it("is made once, and answers the dispute to every repeat", async () => {
    const { path } = await disputed();
    const first = await post(`${path}/accept`);
    expect([first.status, first.json]).toMatchObject([200, { status: "ACCEPTED", heldMinor: 4900 }]);
    const again = await post(`${path}/accept`);
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect((await edge.call("GET", `${path}/response-options`)).json).toEqual({
      accept: false,
      defenses: [],
      takesExplanation: true,
    });
  });

  it("is refused for what was refunded", async () => {
    const { path } = await disputed("Inquiry");
    const refused = await post(`${path}/accept`);
    // SANDBOX_A accepts no inquiry, as Stripe: it is refunded.
    expect([refused.status, refused.json]).toMatchObject([422, { code: "not_offered", param: "accept" }]);
  });

  it("needs the right, and counts towards the key's cap of refunds", async () => {
    const { path } = await disputed();
    const refused = await post(`${path}/accept`, undefined, await keyWith(["refunds.create", "sessions.read"]));
    expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining("disputes.respond")]);
    const rights = ["refunds.create", "disputes.respond"];
    const capped = await post(`${path}/accept`, undefined, await keyWith(rights, { refundCap: { EUR: 4_899 } }));
    expect([capped.status, capped.json.code]).toEqual([403, "refund_cap_exceeded"]);
    const made = await post(`${path}/accept`, undefined, await keyWith(rights, { refundCap: { EUR: 4_900 } }));
    expect(made.json).toMatchObject({ status: "ACCEPTED" });
  });

  it("is of one's own dispute", async () => {
    const { path } = await disputed();
    const { secret } = await edge.addMerchant();
    for (const to of ["accept", "evidence", "files"]) {
      const body = { accept: undefined, evidence: { explanation: "x" }, files: receipt }[to];
      const { status } = await post(`${path}/${to}`, body, { authorization: `Bearer ${secret}` });
      expect(status).toBe(404);
    }
  });
});

it("takes files and evidence over gRPC", async () => {
  const { path } = await disputed();
  const disputeId = path.split("/").at(-1)!;
  const server = createGrpcServer(edge.parts, { reflection: false });
  const client = createGrpcClient(DisputeService, `127.0.0.1:${await server.listen(0, "127.0.0.1")}`);
  const call = { timeoutMs: 20_000, metadata: { authorization: `Bearer ${edge.keys.secret}` } };
  const content = Buffer.from(pdf(2 * 1024 * 1024), "base64");
  const { file } = await client.addDisputeFile({ ...receipt, disputeId, content }, call);
  const files = [{ file: file!.fileId, type: "receipt" }];
  const { dispute } = await client.submitEvidence({ disputeId, files }, call);
  expect(dispute).toMatchObject({ responses: [{ documents: [{ name: "receipt.pdf", sizeBytes: content.length }] }] });
  client.close();
  await server.close();
});
