import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type ForwardRequestSchema, NeverSent_Reason, VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { probeNames } from "../platform/gateway-facts.ts";
import { untraced } from "../platform/telemetry.ts";
import { coBadgedCard, liveCard, startVaultFixture, testCard } from "./vault.fixture.ts";
import { usesPerToken } from "./vault-limits.ts";

type Received = { path: string; headers: IncomingMessage["headers"]; body: string };
type Change = MessageInitShape<typeof ForwardRequestSchema>;
type Answer = (request: Received, response: ServerResponse) => void;

const approve: Answer = (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}");

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const tracing = { ...untraced, outgoing: () => traceparent };

let received: Received[] = [];
let answer: Answer = approve;

const fixture = await forFile(() => startVaultFixture({ tracing }));
const client = createClient(VaultService, createGrpcTransport({ baseUrl: fixture.vault.origins.grpc }));
const gateway = await forFile(() =>
  createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const arrived = { path: request.url ?? "", headers: request.headers, body };
    received.push(arrived);
    answer(arrived, response);
  }),
);
await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
const gatewayOrigin: string = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
afterEach(() => {
  received = [];
  answer = approve;
});
afterAll(() => gateway.closeAllConnections());

async function tokenFor(session: string, change: object = {}): Promise<string> {
  const answered = (await (await fixture.tokenize(session, { ...testCard, ...change })).json()) as { token: string };
  return answered.token;
}

async function forward(change: Change, environment: "test" | "live" = "test") {
  const request = {
    connector: "SANDBOX_A",
    operation: "authorize",
    sessionId: "ps_1",
    origin: gatewayOrigin,
    headers: { authorization: "Bearer key_a", "idempotency-key": "att_1" },
    body: Buffer.from("amount=4900&card[number]={{card.number}}&card[cvc]={{card.cvc}}"),
    timeoutMs: 5_000,
    ...change,
  };
  return client.forward(request, {
    headers: { authorization: `Bearer ${await fixture.serviceToken(environment)}`, traceparent },
  });
}

describe("Forward", () => {
  it("sends no card that the environment no longer takes, such as a real one in a rehearsal", async () => {
    const cards = fixture.config.environments[0]!.testCards as Set<string>;
    const token = await tokenFor("ps_kept", coBadgedCard);
    cards.delete(coBadgedCard.number);
    try {
      expect((await forward({ token, sessionId: "ps_kept" })).result.case).toBe("neverSent");
    } finally {
      cards.add(coBadgedCard.number);
    }
    expect(received).toEqual([]);
    const other = await tokenFor("ps_other", coBadgedCard);
    await forward({ token: other, sessionId: "ps_other" });
    expect(received).toHaveLength(1);
  });

  it("sends the card to the gateway once and returns the answer with number and name masked", async () => {
    answer = (_, response) => {
      response.writeHead(402, { "x-echo": "4242-4242-4242-4242", "content-type": "application/json" });
      response.end('{"card":"4242 4242 4242 4242","billing_details":{"name":"Ada Lovelace"}}');
    };
    const { result, brand, last4 } = await forward({ token: await tokenFor("ps_1") });
    expect(received).toEqual([
      expect.objectContaining({
        path: "/a/v1/authorizations",
        body: "amount=4900&card%5Bnumber%5D=4242424242424242&card%5Bcvc%5D=123",
      }),
    ]);
    expect(received[0]?.headers).toMatchObject({
      authorization: "Bearer key_a",
      "idempotency-key": "att_1",
      "content-type": "application/x-www-form-urlencoded",
    });
    // The trace stays within our own processes.
    expect(received[0]?.headers).not.toHaveProperty("traceparent");
    expect({ brand, last4 }).toEqual({ brand: "visa", last4: "4242" });
    if (result.case !== "answer") throw new Error(`unexpected ${result.case}`);
    expect(result.value.status).toBe(402);
    expect(result.value.headers["x-echo"]).toBe("****-****-****-4242");
    expect(JSON.parse(Buffer.from(result.value.body).toString())).toEqual({
      card: "**** **** **** 4242",
      billing_details: { name: "************" },
    });
  });

  it("returns the brand that the customer chose, and without a choice that of the number", async () => {
    const coBadged = { number: coBadgedCard.number, brand: "cartes_bancaires" };
    const chosen = await forward({ token: await tokenFor("ps_1", coBadged) });
    expect(chosen).toMatchObject({ brand: "cartes_bancaires", chosenBrand: "cartes_bancaires", last4: "1001" });
    const unchosen = await forward({ token: await tokenFor("ps_1", { number: coBadgedCard.number }) });
    expect(unchosen).toMatchObject({ brand: "visa", chosenBrand: "" });
    // A gateway without a field for it gets the same bytes.
    expect(received[0]?.body).toBe(received[1]?.body);
  });

  it("returns references unchanged, also those that read as a card number, and never the CVC", async () => {
    answer = (_, response) => {
      response.setHeader("x-transaction", "4111111111111111");
      response.end(
        '{"id":4111111111111111,"reference":"4111111111111111","card":{"number":"4242424242424242","cvc":"123"}}',
      );
    };
    const { result } = await forward({ token: await tokenFor("ps_1") });
    if (result.case !== "answer") throw new Error(`unexpected ${result.case}`);
    expect(result.value.headers["x-transaction"]).toBe("4111111111111111");
    expect(JSON.parse(Buffer.from(result.value.body).toString())).toEqual({
      id: 4111111111111111,
      reference: "4111111111111111",
      card: { number: "************4242", cvc: "***" },
    });
  });

  it("fills the given name in for a card without one, and masks it in the answer", async () => {
    const body = Buffer.from('{"paymentMethod":{"holderName":"{{card.holder}}"}}');
    answer = (_, response) => response.end('{"shopperName":"Grace Hopper"}');
    const given = { connector: "SANDBOX_B", body, holder: "Grace Hopper" };
    const { result } = await forward({ ...given, token: await tokenFor("ps_1", { holder: undefined }) });
    if (result.case !== "answer") throw new Error(`unexpected ${result.case}`);
    expect(Buffer.from(result.value.body).toString()).not.toContain("Grace");
    await forward({ ...given, token: await tokenFor("ps_1") });
    const names = received.map((request) => JSON.parse(request.body).paymentMethod.holderName);
    expect(names).toEqual(["Grace Hopper", "Ada Lovelace"]);
  });

  it("writes a name for a 3DS server in its letters, and masks it in both forms", async () => {
    const body = Buffer.from('{"cardholderName":"{{card.emvHolder}}"}');
    answer = (_, response) => response.end('{"a":"of Ivan Shcherbakov","b":"of Иван Щербаков"}');
    const token = await tokenFor("ps_1", { holder: "Иван Щербаков" });
    const { result } = await forward({ connector: "SANDBOX_3DS", operation: "auth", body, token });
    if (result.case !== "answer") throw new Error(`unexpected ${result.case}`);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cardholderName: "Ivan Shcherbakov" });
    expect(Buffer.from(result.value.body).toString()).toMatch(/^\{"a":"of \*+","b":"of \*+"\}$/);
  });

  it("writes JSON for a gateway that takes JSON", async () => {
    const body = Buffer.from('{"paymentMethod":{"number":"{{card.number}}","holderName":"{{card.holder}}"}}');
    await forward({ connector: "SANDBOX_B", body, token: await tokenFor("ps_1") });
    expect(received[0]?.path).toBe("/b/payments");
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({
      paymentMethod: { number: "4242424242424242", holderName: "Ada Lovelace" },
    });
  });

  it.each([
    ["a placeholder in another field", { body: Buffer.from("description={{card.number}}") }],
    ["a placeholder in a header", { headers: { "x-note": "{{card.number}}" } }],
    ["a header of the transport", { headers: { host: "example.com" } }],
    ["a header that splits in two", { headers: { "x-note": "a\r\nx-b: c" } }],
    ["another host", { origin: "http://192.0.2.1" }],
    ["another operation", { operation: "capture" }],
    ["no deadline", { timeoutMs: 0 }],
  ])("refuses %s before a card is touched", async (_, change) => {
    const token = await tokenFor("ps_refused");
    const call = forward({ sessionId: "ps_refused", token, ...change });
    await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect(received).toEqual([]);
    const { rows } = await fixture.database.pool.query(
      "SELECT min(uses_left) FROM card WHERE session_id = 'ps_refused'",
    );
    expect(rows).toEqual([{ min: usesPerToken }]);
    await fixture.database.pool.query("DELETE FROM card_session WHERE session_id = 'ps_refused'");
  });

  it("sends a number that belongs to no customer for a test call, and for no payment's session", async () => {
    const { result, last4 } = await forward({ ...probeNames });
    expect({ type: result.case, last4 }).toEqual({ type: "answer", last4: "4242" });
    expect(received[0]?.body).toContain("=4242424242424242&");
    received = [];
    expect(await reasonOf({ ...probeNames, sessionId: "ps_1" })).toBe(NeverSent_Reason.TOKEN_NOT_FOUND);
    expect(await reasonOf({ ...probeNames, token: "tok_other" })).toBe(NeverSent_Reason.TOKEN_NOT_FOUND);
  });

  const reasonOf = async (change: Change, environment: "test" | "live" = "test") => {
    const { result } = await forward(change, environment);
    expect(received).toEqual([]);
    return result.case === "neverSent" ? result.value.reason : undefined;
  };

  it("does not find a foreign session's token", async () => {
    const token = await tokenFor("ps_mine");
    expect(await reasonOf({ token, sessionId: "ps_yours" })).toBe(NeverSent_Reason.TOKEN_NOT_FOUND);
  });

  it("does not reach a test card with a live service token", async () => {
    const token = await tokenFor("ps_test");
    await expect(forward({ token, sessionId: "ps_test" }, "live")).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    expect(received).toEqual([]);
  });

  it("does not fill in a card that has expired", async () => {
    const token = await tokenFor("ps_old");
    await fixture.database.pool.query("UPDATE card SET expires_at = clock_timestamp() WHERE session_id = 'ps_old'");
    expect(await reasonOf({ token, sessionId: "ps_old" })).toBe(NeverSent_Reason.TOKEN_EXPIRED);
  });

  it("fills in a card as often as it may and no more, also when requested concurrently", async () => {
    const token = await tokenFor("ps_used");
    const calls = Array.from({ length: usesPerToken + 3 }, () => forward({ token, sessionId: "ps_used" }));
    const cases = (await Promise.all(calls)).map(({ result }) => result.case);
    expect(cases.filter((name) => name === "answer")).toHaveLength(usesPerToken);
    expect(received).toHaveLength(usesPerToken);
    received = [];
    expect(await reasonOf({ token, sessionId: "ps_used" })).toBe(NeverSent_Reason.TOKEN_USED_UP);
  });

  it("distinguishes a refused connection from a request without an answer", async () => {
    const token = await tokenFor("ps_gone");
    const refused = await forward({ token, sessionId: "ps_gone", origin: "http://127.0.0.1:1" });
    expect(refused.result).toMatchObject({ case: "neverSent", value: { reason: NeverSent_Reason.CONNECTION_REFUSED } });
    answer = (_, response) => response.destroy();
    const broken = await forward({ token, sessionId: "ps_gone" });
    expect(broken.result).toMatchObject({ case: "noAnswer", value: { timedOut: false } });
    const arrived = Promise.withResolvers<void>();
    answer = () => arrived.resolve();
    const [silent] = await Promise.all([forward({ token, sessionId: "ps_gone", timeoutMs: 1_000 }), arrived.promise]);
    expect(silent.result).toMatchObject({ case: "noAnswer", value: { timedOut: true } });
    expect(silent.last4).toBe("4242");
    expect(received).toHaveLength(2);
  });

  it("returns no answer that is larger than 256 KiB, or compressed", async () => {
    const token = await tokenFor("ps_huge");
    answer = (_, response) => response.end("x".repeat(256 * 1024 + 1));
    expect((await forward({ token, sessionId: "ps_huge" })).result.case).toBe("noAnswer");
    answer = (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x");
    expect((await forward({ token, sessionId: "ps_huge" })).result.case).toBe("noAnswer");
  });

  it("follows no redirect", async () => {
    answer = (_, response) => response.writeHead(307, { location: `${gatewayOrigin}/elsewhere` }).end();
    const { result } = await forward({ token: await tokenFor("ps_1") });
    expect(result).toMatchObject({ case: "answer", value: { status: 307 } });
    expect(received).toHaveLength(1);
  });

  it("requires a service token of an environment that it serves", async () => {
    const token = await tokenFor("ps_1");
    const grant = await fixture.grant("ps_1");
    for (const headers of [undefined, { authorization: `Bearer ${grant}` }]) {
      const call = client.forward({ connector: "SANDBOX_A", token }, headers === undefined ? {} : { headers });
      await expect(call).rejects.toMatchObject({ code: Code.Unauthenticated });
    }
  });
});

describe("Forget", () => {
  const forget = async (sessionId: string, environment: "test" | "live" = "test") =>
    client.forget({ sessionId }, { headers: { authorization: `Bearer ${await fixture.serviceToken(environment)}` } });

  it("deletes the session's cards, accepts no more for it, and can be repeated", async () => {
    const token = await tokenFor("ps_settled");
    await forget("ps_settled");
    await forget("ps_settled");
    const { rows } = await fixture.database.pool.query("SELECT 1 FROM card WHERE session_id = 'ps_settled'");
    expect(rows).toEqual([]);
    const { result } = await forward({ token, sessionId: "ps_settled" });
    expect(result).toMatchObject({ case: "neverSent", value: { reason: NeverSent_Reason.TOKEN_NOT_FOUND } });
    const late = await fixture.tokenize("ps_settled", testCard);
    expect(late.status).toBe(409);
    expect(await late.json()).toMatchObject({ code: "session_ended" });
  });

  it("leaves no card behind when it runs while a card is being kept", async () => {
    for (let round = 0; round < 10; round++) {
      const session = `ps_race_${round}`;
      await Promise.all([fixture.tokenize(session, testCard), forget(session)]);
    }
    const { rows } = await fixture.database.pool.query("SELECT 1 FROM card WHERE session_id LIKE 'ps_race_%'");
    expect(rows).toEqual([]);
  });

  it("leaves the other environment's session of the same name unchanged", async () => {
    const grant = await fixture.grant("ps_twin", { environment: "live" });
    await fixture.tokenize("ps_twin", liveCard, { grant });
    await forget("ps_twin", "test");
    const { rows } = await fixture.database.pool.query("SELECT environment FROM card WHERE session_id = 'ps_twin'");
    expect(rows).toEqual([{ environment: "live" }]);
  });

  it("names the mistake when the session is missing", async () => {
    const error = await forget("").catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ code: Code.InvalidArgument });
  });
});

describe("the gRPC port", () => {
  it("survives a malformed :authority", async () => {
    const session = connectHttp2(fixture.vault.origins.grpc);
    const stream = session.request({
      ":authority": "localhost:99999",
      ":method": "POST",
      ":path": "/vault.v1.VaultService/Forget",
    });
    stream.end();
    const [headers] = (await once(stream, "response")) as [{ ":status": number }];
    expect(headers[":status"]).toBe(400);
    session.destroy();
    const { result } = await forward({ token: await tokenFor("ps_alive"), sessionId: "ps_alive" });
    expect(result.case).toBe("answer");
  });
});
