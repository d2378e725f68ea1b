/** One scenario for the clients of all languages: against an edge, and through a line that loses its answers. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { startEdgeFixture } from "../../edge/edge.fixture.ts";
import { signWebhook } from "../../events/signature.ts";
import { Secret } from "../../platform/secrets.ts";

const checkout = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(checkout, path), "utf8");
const driver = (name: string) => join(import.meta.dirname, name);
const languages: Readonly<Record<string, readonly [command: string, ...string[]]>> = {
  node: [process.execPath, driver("driver.ts")],
  // Without the bytecode that it would write beside the client.
  python: ["python3", "-B", driver("driver.py")],
  php: ["php", driver("driver.php")],
};

type Failure = Record<"code" | "status" | "temporary" | "param" | "tries" | "idempotencyKey", unknown> & {
  readonly problems: readonly { readonly pointer: string }[];
};
// biome-ignore lint/suspicious/noExplicitAny: answers are the REST API's JSON.
type Result = { answer?: any; error?: Failure; message?: string; refused?: string; mistake?: string };

let cuts = 0;
const edge = await forFile(startEdgeFixture);
/** Forwards to the edge, and breaks the connection after the edge has answered, `cuts` times. */
const line = await forFile(() => Receiver.start());
/** Answers as something other than the service does. */
const stranger = await forFile(() => Receiver.start());
line.answerWith(async ({ method, path, body, headers }) => {
  const passed = ["content-type", "idempotency-key"].filter((name) => headers[name] !== undefined);
  const answer = await edge.call(method, path.replace("/api/v1", ""), {
    headers: Object.fromEntries(passed.map((name) => [name, String(headers[name])])),
    ...(body.length > 0 && { body: body.toString() }),
  });
  return cuts-- > 0 ? "reset" : { status: answer.status, body: answer.text };
});
beforeEach(() => {
  cuts = 0;
  line.requests.length = 0;
  stranger.requests.length = 0;
});

function start([command, ...words]: readonly [string, ...string[]]) {
  const bases = {
    edge: `http://127.0.0.1:${edge.port}/api/v1`,
    line: `${line.url}/api/v1`,
    stranger: `${stranger.url}/api/v1`,
    // Nothing listens on port 1 of the loopback.
    nobody: "http://127.0.0.1:1/api/v1",
  };
  const child = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
  const send = (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`);
  send({ bases, secretKey: edge.keys.secret, folder: join(checkout, "clients") });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async call(
      name: string,
      args: readonly unknown[],
      { client = "edge", options = undefined as object | undefined } = {},
    ) {
      send({ name, client, args, options });
      const { value } = await answers.next();
      return JSON.parse(value ?? '"the driver ended"') as Result;
    },
    async end() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

const secret = "switchyard_test_whsec_MzIgYnl0ZXMgdGhhdCBldmVyeWJvZHkgbWF5IGtub3c=";
const other = "switchyard_test_whsec_AzIgYnl0ZXMgdGhhdCBldmVyeWJvZHkgbWF5IGtub3c=";
const event = JSON.stringify({ id: "evt_1", type: "payment_session.succeeded", data: { orderRef: "Grüße, 世界" } });

it("all have the version of the API", () => {
  const { version } = JSON.parse(read("package.json"));
  expect(read("clients/python/switchyard.py")).toContain(`__version__ = "${version}"`);
  expect(read("clients/php/Switchyard.php")).toContain(`const VERSION = "${version}";`);
});

describe.each(Object.entries(languages))("the client in %s", (language, command) => {
  const isMissing = spawnSync(command[0], ["--version"]).error !== undefined;
  if (isMissing) console.info(`not run: there is no ${command[0]} on this machine`);
  beforeEach(({ skip }) => skip(isMissing, `there is no ${command[0]} on this machine`));
  const client = start(isMissing ? languages.node! : command);
  afterAll(() => client.end());
  const order = (name: string) => ({ amountMinor: 4900, currency: "EUR", orderRef: `${language}-${name}` });

  it("creates a session, reads it and cancels it", async () => {
    const { answer: created } = await client.call("createSession", [
      { ...order("read"), customerEmail: "ada@example.com" },
    ]);
    expect(created).toMatchObject({ ...order("read"), status: "CREATED", clientSecret: expect.any(String) });
    const { answer: read } = await client.call("getSession", [created.sessionId]);
    expect(read).toMatchObject({ ...order("read"), customerEmail: "ada@example.com", processing: false, attempts: [] });
    const { answer: cancelled } = await client.call("cancelSession", [created.sessionId]);
    expect(cancelled).toMatchObject({ sessionId: created.sessionId, status: "EXPIRED" });
  });

  it("makes one session with one key, even if the answer is lost three times", async () => {
    cuts = 3;
    const { answer: created } = await client.call("createSession", [order("lost")], { client: "line" });
    expect(line.requests).toHaveLength(4);
    expect(new Set(line.requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    const { answer: found } = await client.call("eachSession", [{ orderRef: order("lost").orderRef }]);
    expect(found.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([created.sessionId]);
  });

  it("gives up after four requests, and says with which key", async () => {
    cuts = 4;
    const options = { idempotencyKey: `${language}-4` };
    const { error, message } = await client.call("createSession", [order("gone")], { client: "line", options });
    expect(error).toMatchObject({ code: "unavailable", status: null, temporary: true, tries: 4, ...options });
    expect(message).toMatch(/^http:\/\/127\.0\.0\.1:\d+ gave no answer: .+\.$/);
    expect(line.requests).toHaveLength(4);
  });

  it("returns the first session to a call with the same key, and refuses other fields", async () => {
    const options = { idempotencyKey: `${language}-again` };
    const first = await client.call("createSession", [order("again")], { options });
    expect(await client.call("createSession", [order("again")], { options })).toEqual(first);
    const { error } = await client.call("createSession", [order("other")], { options });
    expect(error).toMatchObject({
      status: 422,
      code: "idempotency_key_reused",
      temporary: false,
      tries: 1,
      ...options,
    });
  });

  it("reads page by page", async () => {
    const made = [];
    for (const number of [1, 2, 3]) {
      const options = { idempotencyKey: `${language}-page-${number}` };
      made.push((await client.call("createSession", [order("page")], { options })).answer.sessionId);
    }
    const filters = { orderRef: order("page").orderRef, pageSize: 2, processing: false };
    const { answer: page } = await client.call("listSessions", [filters]);
    expect(page).toMatchObject({ paymentSessions: [{}, {}], nextPageToken: expect.any(String) });
    const { answer: all } = await client.call("eachSession", [filters]);
    expect(all.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(made.toReversed());
  });

  it("names every field that breaks a rule, and the first one in the message", async () => {
    const { error, message } = await client.call("createSession", [{ amountMinor: -1, currency: "XXX", orderRef: "" }]);
    expect(error).toMatchObject({ status: 400, code: "missing_field", temporary: false, tries: 1 });
    expect(error!.problems.map(({ pointer }) => pointer).toSorted()).toEqual([
      "/amountMinor",
      "/currency",
      "/orderRef",
    ]);
    expect(message).toBe(`${error!.param} is required (and 2 more).`);
  });

  it("names the field of a refund and of a capture that breaks a rule", async () => {
    const options = { idempotencyKey: `${language}-none` };
    const { answer } = await client.call("createSession", [order("fields")]);
    const refund = await client.call("createRefund", [answer.sessionId, { amountMinor: 0 }], { options });
    expect(refund.error).toMatchObject({ status: 400, code: "invalid_field", param: "amountMinor" });
    const capture = await client.call("captureSession", [answer.sessionId, -1]);
    expect(capture.error).toMatchObject({ status: 400, code: "invalid_field", param: "amountMinor" });
  });

  it("lists stored cards, agreements and disputes, and ends what does not exist", async () => {
    expect((await client.call("listPaymentMethods", [{ customerRef: "nobody" }])).answer).toEqual({
      paymentMethods: [],
    });
    expect((await client.call("listAgreements", [{ customerRef: "nobody" }])).answer).toEqual({ agreements: [] });
    expect((await client.call("listDisputes", [{ status: "NEEDS_RESPONSE" }])).answer).toEqual({ disputes: [] });
    expect((await client.call("getDispute", ["dsp_1"])).error?.status).toBe(404);
    const options = { idempotencyKey: `${language}-charge` };
    const calls = [
      await client.call("cancelAgreement", ["agr_1"]),
      await client.call("deletePaymentMethod", ["pm_1"]),
      await client.call("createRecoveryLink", ["agr_1", order("link")]),
      await client.call("chargeAgreement", ["agr_1", order("charge")], { options }),
    ];
    expect(calls.map(({ error }) => error?.status)).toEqual([404, 404, 404, 404]);
    const { error } = await client.call("createSetup", [{}]);
    expect(error).toMatchObject({ status: 400, idempotencyKey: expect.any(String) });
  });

  it("fails on what does not exist, without another try", async () => {
    for (const [name, ...args] of [
      ["getSession", "ps_1"],
      ["getSession", ".."],
      ["captureSession", "ps_1", 100],
      ["getRefund", "ps_1", "ref_1"],
      ["getAgreement", "agr_1"],
      ["getPaymentMethod", "pm_1"],
    ] as const) {
      const { error } = await client.call(name, args);
      expect({ name, ...error }).toMatchObject({ name, status: 404, code: "not_found", tries: 1 });
    }
    const options = { idempotencyKey: `${language}-refund` };
    const { error } = await client.call("createRefund", ["ps_1", { amountMinor: 1 }], { options });
    expect(error).toMatchObject({ status: 404, code: "not_found" });
  });

  it("repeats after the pause that was asked for, and not when it is long", async () => {
    const refusal = { code: "rate_limited", detail: "There were too many requests.", requestId: "req_1" };
    const refuse = (seconds: string) => ({
      status: 429,
      headers: { "retry-after": seconds },
      body: JSON.stringify(refusal),
    });
    stranger.answerWith(() =>
      stranger.requests.length === 1 ? refuse("1") : { status: 200, body: '{"sessionId":"ps_1"}' },
    );
    const startedAt = performance.now();
    const { answer } = await client.call("getSession", ["ps_1"], { client: "stranger" });
    expect(answer).toEqual({ sessionId: "ps_1" });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_000);
    stranger.requests.length = 0;
    stranger.answerWith(refuse("11"));
    const { error } = await client.call("getSession", ["ps_1"], { client: "stranger" });
    expect(error).toMatchObject({ code: "rate_limited", temporary: true, tries: 1 });
  });

  it("does not follow a redirect with the key, nor take another server's page for an answer", async () => {
    stranger.answerWith({ status: 307, headers: { location: line.url }, body: "" });
    const { error: redirected } = await client.call("getSession", ["ps_1"], { client: "stranger" });
    expect(redirected).toMatchObject({ code: "unexpected_answer", status: 307, tries: 1 });
    expect(line.requests).toEqual([]);
    stranger.answerWith({ status: 200, body: "<html>" });
    const { error: page } = await client.call("getSession", ["ps_1"], { client: "stranger" });
    expect(page).toMatchObject({ code: "unexpected_answer", status: 200, tries: 1 });
    const { error: nobody } = await client.call("getSession", ["ps_1"], { client: "nobody" });
    expect(nobody).toMatchObject({ code: "unavailable", status: null, tries: 4 });
  });

  it("takes a genuine webhook, and no other request", async () => {
    const sign = (ageMs: number) => ({
      ...signWebhook({
        id: "evt_1",
        sentAt: new Date(Date.now() - ageMs),
        body: Buffer.from(event),
        secrets: [new Secret(secret)],
      }),
    });
    const verify = (body: string, headers: object, by: unknown = [other, secret]) =>
      client.call("verifyWebhook", [body, headers, by]);
    const headers = sign(0);
    expect((await verify(event, headers)).answer).toMatchObject({ id: "evt_1", type: "payment_session.succeeded" });
    expect((await verify(event, headers, secret)).answer).toMatchObject({ data: { orderRef: "Grüße, 世界" } });
    expect(await verify(event, headers, other)).toEqual({ refused: "invalid_signature" });
    expect(await verify(event.replace("evt_1", "evt_2"), headers)).toEqual({ refused: "invalid_signature" });
    expect(await verify(event, sign(301_000))).toEqual({ refused: "outside_tolerance" });
    expect(await verify(event, sign(-310_000))).toEqual({ refused: "outside_tolerance" });
    expect(await verify(event, { "webhook-id": "evt_1" })).toEqual({ refused: "missing_header" });
    const { mistake } = await verify(event, headers, "switchyard_test_whsec_?");
    expect(mistake).toBe("secrets must be signing secrets: text that ends in whsec_ and base64.");
  });

  it("shows a wrong key in no message", async () => {
    const { mistake } = await client.call("createSession", [order("key")], {
      options: { idempotencyKey: "line\nend" },
    });
    expect(mistake).toBe(
      "idempotencyKey must be printable ASCII, without a space or a line's end around it.".replace(
        "idempotencyKey",
        language === "python" ? "idempotency_key" : "idempotencyKey",
      ),
    );
  });
});
