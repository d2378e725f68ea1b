/** Runs the clients' examples as a reader does: as separate processes, against a real demo. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { signWebhook } from "../../events/signature.ts";
import { Secret } from "../../platform/secrets.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { callRpc } from "../testing/run-command.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const checkout = join(import.meta.dirname, "../../..");
const examples = join(checkout, "src", "client", "examples");
const nodeExample = join(checkout, "examples", "node", "server.mjs");

const demo = await joinTestDemo();
const secretKey: string = demo.file.merchants[0]!.test.secretKey;

/** Starts an example with only these variables, as its first lines describe. */
function start(file: string, env: Record<string, string>): ChildProcess {
  const program = file.endsWith(".py") ? "/usr/bin/python3" : process.execPath;
  const child = spawn(program, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  return child;
}

async function said(child: ChildProcess, expected: string): Promise<void> {
  let heard = "";
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    heard += chunk;
    if (heard.includes(expected)) return;
  }
  throw new Error(`it ended without "${expected}":\n${heard}`);
}

const call = (method: string, request: object) => callRpc(method, request, demo.commandOptions);

async function verify({ endpointId }: { endpointId: string }) {
  const { verified } = await call("WebhookEndpointService/VerifyWebhookEndpoint", { endpointId });
  expect(verified).toBe(true);
}

describe("merchant-backend.ts", () => {
  it("opens an order, which is paid when the signed webhook says so, and refuses a webhook that is not", async () => {
    const port = await freePortRange(1);
    const origin = `http://127.0.0.1:${port}`;
    const { endpoint, signingSecret } = await call("WebhookEndpointService/AddWebhookEndpoint", {
      url: `${origin}/webhooks`,
    });
    const { connectOrigin } = demo.file;
    const backend = start(join(examples, "merchant-backend.ts"), {
      API_ORIGIN: connectOrigin,
      SECRET_KEY: secretKey,
      SIGNING_SECRET: signingSecret,
      PORT: String(port),
    });
    await said(backend, `Listening on ${origin}`);
    await Promise.all([said(backend, "webhook_endpoint.test"), verify(endpoint)]);

    const opened = (await (await fetch(`${origin}/orders`, { method: "POST" })).json()) as OpenedSession & {
      orderRef: string;
    };
    const order = async () => (await fetch(`${origin}/orders/${opened.orderRef}`)).json();
    expect(await order()).toEqual({ orderRef: opened.orderRef, paid: false, status: "CREATED", trail: [] });
    const forged = await fetch(`${origin}/webhooks`, {
      method: "POST",
      body: JSON.stringify({ type: "payment_session.succeeded", data: { orderRef: opened.orderRef } }),
    });
    expect({ status: forged.status, body: await forged.json() }).toEqual({
      status: 400,
      body: { reason: "missing_header" },
    });
    expect(await order()).toMatchObject({ paid: false });

    const customer = new ApiCheckout(demo.file);
    const declinedThenApproved = "4000000000000002";
    const paid = said(backend, `payment_session.succeeded ${opened.orderRef}`);
    await customer.submit(opened, await customer.tokenize(opened, declinedThenApproved));
    await paid;
    expect(await order()).toMatchObject({
      paid: true,
      status: "SUCCEEDED",
      trail: [
        { gateway: "SANDBOX_A", outcome: "DECLINED", because: expect.stringMatching(/^Rule version 1 fails over/) },
        { gateway: "SANDBOX_B", outcome: "CAPTURED" },
      ],
    });
  });
});

describe("internal-caller.ts", () => {
  it("creates a session, reads it, lists it, and reports a refusal", async () => {
    const service = start(join(examples, "internal-caller.ts"), {
      GRPC_ADDRESS: demo.file.grpcAddress,
      SECRET_KEY: secretKey,
    });
    const [out, [code]] = await Promise.all([text(service.stdout!), once(service, "close")]);
    expect(out).toMatch(
      /^ps_\w{26} waits for a card\norder-\S+: 4900 EUR\nrefused: idempotency_key_reused after 1 request\n$/,
    );
    expect(code).toBe(0);
  });
});

describe("examples/node", () => {
  it("serves a page to pay on, receives the webhook, shows the attempts, and refuses an unsigned request", async () => {
    const port = await freePortRange(1);
    const origin = `http://127.0.0.1:${port}`;
    const { endpoint, signingSecret } = await call("WebhookEndpointService/AddWebhookEndpoint", {
      url: `${origin}/webhooks`,
    });
    const { connectOrigin } = demo.file;
    const settings = { API_ORIGIN: connectOrigin, SECRET_KEY: secretKey, SIGNING_SECRET: signingSecret };
    const backend = start(nodeExample, { ...settings, PORT: String(port) });
    await said(backend, `Pay at ${origin}`);
    await Promise.all([said(backend, "webhook_endpoint.test"), verify(endpoint)]);

    const page = await (await fetch(origin)).text();
    expect((await fetch(/<script src="([^"]+)"/.exec(page)![1]!)).status).toBe(200);
    const session = JSON.parse(/\.\.\.(\{.*\}),$/m.exec(page)![1]!) as OpenedSession & { apiBase: string };
    const order = async () => (await fetch(origin + /href="(\/orders\/[^"]+)"/.exec(page)![1])).json();
    const opened = (await order()) as { orderRef: string };
    expect({ apiBase: session.apiBase, opened }).toEqual({
      apiBase: connectOrigin,
      opened: { orderRef: opened.orderRef, paid: false, status: "CREATED", trail: [] },
    });
    const forged = { type: "payment_session.succeeded", data: { orderRef: opened.orderRef } };
    const refused = await fetch(`${origin}/webhooks`, { method: "POST", body: JSON.stringify(forged) });
    expect(refused.status).toBe(400);
    expect(await order()).toEqual(opened);

    const customer = new ApiCheckout(demo.file);
    const paid = said(backend, `payment_session.succeeded ${opened.orderRef}`);
    await customer.submit(session, await customer.tokenize(session, "4000000000000002"));
    await paid;
    expect(await order()).toMatchObject({
      paid: true,
      status: "SUCCEEDED",
      trail: [
        { gateway: "SANDBOX_A", outcome: "DECLINED", because: expect.stringMatching(/fails over/) },
        { gateway: "SANDBOX_B", outcome: "CAPTURED" },
      ],
    });
  });
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe.each([
  { file: "server.mjs", block: /^## A complete server$[\s\S]*?^```js\n([\s\S]*?)^```$/m },
  ...(hasPython ? [{ file: "server.py", block: /^## The same in Python$[\s\S]*?^```python\n([\s\S]*?)^```$/m }] : []),
])("the complete server of the integration guide, $file", ({ file, block }) => {
  it("runs as it stands: opens an order, repeats a session until it has ended, and ships on the webhook", async () => {
    const guide = await readFile(join(checkout, "docs", "integration.md"), "utf8");
    const [, server = ""] = block.exec(guide) ?? [];
    const port = await freePortRange(1);
    const folder = await mkdtemp(join(tmpdir(), "guide-server-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await symlink(join(checkout, "node_modules"), join(folder, "node_modules"));
    // Only the port is another: two runs on one machine must not meet.
    expect(server.match(/3000/g)).toHaveLength(2);
    await writeFile(join(folder, file), server.replaceAll("3000", String(port)));

    const origin = `http://127.0.0.1:${port}`;
    const { endpoint, signingSecret } = await call("WebhookEndpointService/AddWebhookEndpoint", {
      url: `${origin}/webhooks`,
    });
    const settings = { API_ORIGIN: demo.file.connectOrigin, SECRET_KEY: secretKey, SIGNING_SECRET: signingSecret };
    const backend = start(join(folder, file), settings);
    await said(backend, `Pay at ${origin}`);
    await Promise.all([said(backend, "webhook_endpoint.test"), verify(endpoint)]);

    const page = await fetch(origin);
    expect(page.headers.get("cache-control")).toBe("no-store");
    const html = await page.text();
    const session = JSON.parse(/\.\.\.(\{.*\}),$/m.exec(html)![1]!) as OpenedSession;
    const [orders = "", orderRef = ""] = /\/orders\/([\w-]+)\/sessions/.exec(html)!;
    const retry = async () => (await (await fetch(origin + orders, { method: "POST" })).json()) as OpenedSession;
    expect((await retry()).sessionId).toBe(session.sessionId);

    // The cart changes: the page shows another session, and the old one takes no card.
    const changed = await fetch(`${origin}/orders/${orderRef}/add`, { method: "POST" });
    const dearer = JSON.parse(/\.\.\.(\{.*\}),$/m.exec(await changed.text())![1]!) as OpenedSession;
    const fresh = (await retry()) as OpenedSession & { amountMinor: number };
    expect([fresh.sessionId, fresh.amountMinor]).toEqual([dearer.sessionId, 9800]);
    const client = new RestClient({ restBase: `${demo.file.connectOrigin}/api/v1`, secretKey });
    expect(await client.getSession(session.sessionId)).toMatchObject({ replacedBy: dearer.sessionId });

    const customer = new ApiCheckout(demo.file);
    const fraud = "4100000000000019";
    const declined = said(backend, `payment_session.declined ${orderRef}`);
    await customer.submit(dearer, await customer.tokenize(dearer, fraud));
    await declined;
    const [another, ...same] = await Promise.all([retry(), retry(), retry(), retry(), retry(), retry()]);
    expect(another.sessionId).not.toBe(dearer.sessionId);
    expect(new Set(same.map(({ sessionId }) => sessionId))).toEqual(new Set([another.sessionId]));
    const paid = said(backend, `payment_session.succeeded ${orderRef}`);
    // Another session of the order is declined because this one pays it, which may be reported before and after.
    const declinedFor = async (declineCode: string) => {
      const data = { sequence: 1, sessionId: "ps_2", orderRef, declineCode, payingSessionId: another.sessionId };
      const body = Buffer.from(JSON.stringify({ type: "payment_session.declined", data }));
      const signed = { id: `evt_${declineCode}`, sentAt: new Date(), body, secrets: [new Secret(signingSecret)] };
      const post = { method: "POST", headers: { ...signWebhook(signed) }, body };
      expect((await fetch(`${origin}/webhooks`, post)).status).toBe(204);
      expect((await retry()).sessionId).toBe(another.sessionId);
    };
    await declinedFor("order_being_paid");
    await customer.submit(another, await customer.tokenize(another, "4242424242424242"));
    await paid;
    await declinedFor("order_already_paid");
    // A paid order neither changes nor is cancelled.
    for (const action of ["add", "sessions", "cancel"])
      expect((await fetch(`${origin}/orders/${orderRef}/${action}`, { method: "POST" })).status).toBe(409);

    const [, given = ""] = /\/orders\/([\w-]+)\/cancel/.exec(await (await fetch(origin)).text())!;
    const expired = said(backend, `payment_session.expired ${given}`);
    expect(await (await fetch(`${origin}/orders/${given}/cancel`, { method: "POST" })).text()).toBe("Cancelled.");
    await expired;
    expect((await fetch(`${origin}/orders/${given}/sessions`, { method: "POST" })).status).toBe(404);

    const forged = { type: "payment_session.succeeded", data: { orderRef } };
    const refused = await fetch(`${origin}/webhooks`, { method: "POST", body: JSON.stringify(forged) });
    expect(refused.status).toBe(400);
    expect((await fetch(`${origin}/elsewhere`)).status).toBe(404);
  });
});

describe("the recipes of the guides", () => {
  it("create a session, change its cart, cancel the order, and refuse a second payment", async () => {
    const pages = ["integration.md", "sessions.md"].map((file) => readFile(join(checkout, "docs", file), "utf8"));
    const guide = (await Promise.all(pages)).join("\n");
    const env = { PATH: "/usr/bin:/bin", API_ORIGIN: demo.file.connectOrigin, SECRET_KEY: secretKey };
    const follow = (heading: string, sessionId = "") => {
      const [, lines = ""] = new RegExp(`^#+ ${heading}$[\\s\\S]*?^\`\`\`sh\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(guide)!;
      const { stdout } = spawnSync("bash", ["-c", lines.replace("ps_…", sessionId)], { env });
      return JSON.parse(stdout.toString());
    };
    const created = follow("1. Create a session");
    expect(created).toMatchObject({ status: "CREATED", amountMinor: 4900 });
    const changed = follow("A changed cart", created.sessionId);
    expect(changed).toMatchObject({ status: "CREATED", amountMinor: 9800, orderRef: created.orderRef });
    const cancelled = follow("A cancelled order", changed.sessionId);
    expect(cancelled).toMatchObject({ status: "EXPIRED", expiredBecause: "CANCELLED" });
    const customer = new ApiCheckout(demo.file);
    expect(await customer.read(created.sessionId)).toMatchObject({
      status: "EXPIRED",
      expiredBecause: "REPLACED",
      replacedBy: changed.sessionId,
    });

    const [, setting = ""] = /npx switchyard rpc SettingsService\/SetRepeatedOrders '(\{.*?\})'/.exec(guide)!;
    await call("SettingsService/SetRepeatedOrders", JSON.parse(setting));
    const { orderRef } = created;
    expect(await customer.pay("4242424242424242", { orderRef })).toMatchObject({ status: "SUCCEEDED" });
    expect(await customer.pay("4242424242424242", { orderRef })).toMatchObject({ declineCode: "order_already_paid" });
    const allowed = { orderRef, allowRepeatedOrder: true };
    expect(await customer.pay("4242424242424242", allowed)).toMatchObject({ status: "SUCCEEDED" });
  });
});

describe("examples/curl", () => {
  it("opens a session once for two calls, is refused for another amount, reads and lists", async () => {
    const script = join(checkout, "examples", "curl", "checkout.sh");
    const env = { PATH: "/usr/bin:/bin", API_ORIGIN: demo.file.connectOrigin, SECRET_KEY: secretKey };
    const child = spawn("bash", [script], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    const [created, again] = [...out.matchAll(/^(ps_\w{26}), HTTP 201$/gm)].map(([, session]) => session!);
    expect({ created, again, code }).toEqual({ created: expect.any(String), again: created, code: 0 });
    expect([...out.matchAll(/^HTTP (\d+)$/gm)].map(([, status]) => status)).toEqual(["422", "200", "200"]);
    expect(out).toContain('"code":"idempotency_key_reused"');
    expect(out).toContain(`{"paymentSessions":[{"sessionId":"${created}"`);
    expect(out).not.toMatch(/_secret_|_sk_/);
  });
});

describe("each", () => {
  const files = ["src/client/examples/merchant-backend.ts", "src/client/examples/internal-caller.ts"];
  it.each([...files, "examples/node/server.mjs"])("says what it needs: %s", async (file) => {
    const child = spawn(process.execPath, [join(checkout, file)], { env: {}, stdio: ["ignore", "pipe", "pipe"] });
    const [needed, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect({ needed, code }).toEqual({ needed: expect.stringMatching(/^Set .*SECRET_KEY.*\.\n$/), code: 1 });
  });
});
