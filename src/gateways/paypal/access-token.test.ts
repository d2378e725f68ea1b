import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { AccessTokens, type TokenAnswer } from "./access-token.ts";

const http = new GatewayHttp();
let nowMs = 0;
let tokens: AccessTokens;
let given = 0;

const gateway = await forFile(() => Receiver.start());
afterAll(() => http.close());
beforeEach(() => {
  nowMs = 0;
  given = 0;
  tokens = new AccessTokens({ http, origin: gateway.url, nowMs: () => nowMs });
  gateway.answerWith(() => ({ status: 200, body: JSON.stringify({ access_token: `T${++given}`, expires_in: 600 }) }));
});

const call = (account: string, timeoutMs = 2_000, signal?: AbortSignal) => ({
  credentials: { clientId: new Secret(account), clientSecret: new Secret(`${account}-secret`) },
  timeoutMs,
  signal,
});
const textOf = (answer: TokenAnswer) => (answer.type === "token" ? answer.token.expose() : answer);

describe("AccessTokens", () => {
  it("authenticates with the credentials, keeps the token until its last minute, and then renews it", async () => {
    const asked = gateway.requests.length;
    expect(textOf(await tokens.take(call("a")))).toBe("T1");
    nowMs = 539_999;
    expect(textOf(await tokens.take(call("a")))).toBe("T1");
    nowMs = 540_000;
    expect(textOf(await tokens.take(call("a")))).toBe("T2");
    expect(gateway.requests.slice(asked)).toHaveLength(2);
    const [request] = gateway.requests.slice(asked);
    expect(request).toMatchObject({ method: "POST", path: "/v1/oauth2/token" });
    expect(request!.body.toString()).toBe("grant_type=client_credentials");
    expect(request!.headers.authorization).toBe(`Basic ${Buffer.from("a:a-secret").toString("base64")}`);
  });

  it("never shares one account's token with another, nor with the same client under another secret", async () => {
    expect(textOf(await tokens.take(call("a")))).toBe("T1");
    expect(textOf(await tokens.take(call("b")))).toBe("T2");
    const rotated = { ...call("a"), credentials: { ...call("a").credentials, clientSecret: new Secret("newer") } };
    expect(textOf(await tokens.take(rotated))).toBe("T3");
    expect(textOf(await tokens.take(call("a")))).toBe("T1");
  });

  it("fetches one token at a time for all callers, and continues when the first caller leaves", async () => {
    let answer = (): void => {};
    const asked = new Promise<void>((resolve) =>
      gateway.answerWith(async () => {
        resolve();
        await new Promise<void>((go) => {
          answer = go;
        });
        return { status: 200, body: JSON.stringify({ access_token: `T${++given}`, expires_in: 600 }) };
      }),
    );
    const leaving = new AbortController();
    const first = tokens.take(call("a", 2_000, leaving.signal));
    const others = [tokens.take(call("a")), tokens.take(call("a"))];
    await asked;
    leaving.abort();
    expect(await first).toMatchObject({ type: "neverSent", cause: "stopped" });
    answer();
    expect((await Promise.all(others)).map(textOf)).toEqual(["T1", "T1"]);
    expect(given).toBe(1);
  });

  it("forgets the refused token, and not a newer one", async () => {
    const old = await tokens.take(call("a"));
    const renewed = await tokens.renew(call("a"));
    if (old.type !== "token" || renewed.type !== "token") throw new Error("expected tokens");
    tokens.forget(call("a").credentials, old.token);
    expect(textOf(await tokens.take(call("a")))).toBe("T2");
    tokens.forget(call("a").credentials, renewed.token);
    expect(textOf(await tokens.take(call("a")))).toBe("T3");
  });

  it("returns PayPal's refusal of the credentials unchanged, and keeps nothing", async () => {
    gateway.answerWith(() => ({ status: 401, body: '{"error":"invalid_client"}' }));
    expect(await tokens.take(call("a"))).toMatchObject({ type: "answer", status: 401 });
    gateway.answerWith(() => ({ status: 200, body: '{"access_token":"T1","expires_in":600}' }));
    expect(textOf(await tokens.take(call("a")))).toBe("T1");
  });

  it.each([
    ["an error", { status: 503, body: "" }],
    ["a page", { status: 200, headers: { "content-type": "text/html" }, body: "<html>" }],
    ["a refusal that is nobody's", { status: 401, body: "<html>" }],
    ["a token that is no text", { status: 200, body: '{"access_token":7,"expires_in":600}' }],
    ["a token that would break a header", { status: 200, body: '{"access_token":"a\\nb","expires_in":600}' }],
    ["a token without an end", { status: 200, body: '{"access_token":"T1"}' }],
    ["a reset", "reset" as const],
  ])("treats %s as no token, so that the request that needed it was never sent", async (_, answer) => {
    gateway.answerWith(() => answer);
    expect(await tokens.take(call("a"))).toMatchObject({ type: "neverSent", cause: "connection_refused" });
  });

  it("waits no longer than the call's time limit", async () => {
    gateway.answerWith(() => "hang");
    expect(await tokens.take(call("a", 50))).toMatchObject({ type: "neverSent", cause: "connection_refused" });
    expect(await tokens.take(call("a", 50, AbortSignal.abort()))).toMatchObject({ cause: "stopped" });
  });
});
