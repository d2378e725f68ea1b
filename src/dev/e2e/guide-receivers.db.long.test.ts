/** The programs of docs/verify-webhooks.md, run unchanged: they accept real deliveries and refuse tampered ones. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, type TestContext, vi } from "vitest";
import { registerEndpoint, verifyEndpoint } from "../../events/endpoints.ts";
import { replayDelivery } from "../../events/replay-delivery.ts";
import { signWebhook } from "../../events/signature.ts";
import { generateSigningSecret } from "../../events/signing-secrets.ts";
import type { Secret } from "../../platform/secrets.ts";
import { deliverOnce } from "../testing/events/deliver-once.ts";
import { openEventsHarness } from "../testing/events/events-harness.ts";
import { fanOut } from "../testing/events/fan-out.ts";
import { forFile } from "../testing/for-file.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { filesOf } from "./guide-text.ts";
import { signVector, vector } from "./webhook-guide.ts";

const checkout = join(import.meta.dirname, "../../..");
// A compiler may have to run first.
const starting = { timeout: 60_000, interval: 100 };

const [harness, folder, guide] = await Promise.all([
  forFile(openEventsHarness),
  mkdtemp(join(tmpdir(), "switchyard-guide-")),
  readFile(join(checkout, "docs", "verify-webhooks.md"), "utf8"),
]);
await symlink(join(checkout, "node_modules"), join(folder, "node_modules"));
for (const [name, code] of filesOf(guide)) await writeFile(join(folder, name), code);
await chmod(join(folder, "verify.sh"), 0o755);
await writeFile(join(folder, "package.json"), '{"type": "module"}');
runLine(/^cp -r "\$SWITCHYARD.+$/m);
// Nothing that Node 20 lacks compiles with the library of ES2023.
runLine(/^npx tsc .+$/m);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a line of the guide in the folder, as it stands there. */
function runLine(pattern: RegExp): string {
  const [line] = pattern.exec(guide)!;
  const { status, stdout, stderr } = spawnSync("env", [`SWITCHYARD=${checkout}`, "sh", "-ec", line], { cwd: folder });
  if (status !== 0) throw new Error(`${line}\n${stdout}${stderr}`);
  return stdout.toString();
}

const newSecret = () => generateSigningSecret(harness.context.runtime, "switchyard_test_whsec_");
const body = Buffer.from(JSON.stringify({ id: "evt_1", type: "payment_session.declined", data: { name: "Zoë" } }));
const minuteMs = 60_000;

function sign(secrets: readonly Secret[], ahead = 0, id = "evt_1", content = body) {
  const sentAt = new Date(Date.now() + ahead * minuteMs);
  return { body: content, headers: { ...signWebhook({ id, sentAt, body: content, secrets }) } };
}

/** Returns the webhooks of two sessions of an order: one has paid it, the other was declined for that. */
function twoSessions(secret: Secret, orderRef: string) {
  return [
    { type: "payment_session.succeeded", data: { sequence: 1, sessionId: "ps_1", orderRef } },
    {
      type: "payment_session.declined",
      data: { sequence: 1, sessionId: "ps_2", orderRef, declineCode: "order_already_paid", payingSessionId: "ps_1" },
    },
  ].map((event) => {
    const id = `evt_${orderRef}_${event.type}`;
    return sign([secret], 0, id, Buffer.from(JSON.stringify({ id, ...event })));
  });
}

/** Returns webhooks that must be refused, by the change that was made. */
function tampered(secret: Secret): Record<string, ReturnType<typeof sign>> {
  const genuine = sign([secret]);
  const withHeader = (name: string, value: string) => ({ body, headers: { ...genuine.headers, [name]: value } });
  const { "webhook-timestamp": time, "webhook-signature": signature } = genuine.headers;
  return {
    body: { ...genuine, body: Buffer.from(body.toString().replace("declined", "succeeded")) },
    id: withHeader("webhook-id", "evt_2"),
    time: withHeader("webhook-timestamp", String(Number(time) - 1)),
    signature: withHeader(
      "webhook-signature",
      signature.replace(/,./, (first) => (first === ",A" ? ",B" : ",A")),
    ),
    version: withHeader("webhook-signature", signature.replace("v1,", "v2,")),
    secret: sign([newSecret()]),
    old: sign([secret], -6),
    ahead: sign([secret], 6),
  };
}

/** The command that runs a tool with more variables; node is the one that runs the tests. */
function withVariables(variables: Readonly<Record<string, string>>, tool: string): string[] {
  const named = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return [...named, tool === "node" ? process.execPath : tool];
}

function skipWithout(tool: string, { skip }: TestContext): void {
  const isMissing = tool !== "node" && spawnSync(tool, ["version"]).error !== undefined;
  if (isMissing) console.info(`not run: there is no ${tool} on this machine`);
  skip(isMissing, `there is no ${tool} on this machine`);
}

type Program = { readonly name: string; readonly tool: string; run(port: string): string[] };
const programs: readonly Program[] = [
  { name: "receive-typed.ts", tool: "node", run: () => ["receive-typed.ts"] },
  { name: "receive-typed.js", tool: "node", run: () => ["receive-typed.js"] },
  { name: "receive.mjs", tool: "node", run: () => ["receive.mjs"] },
  { name: "receive.py", tool: "python3", run: () => ["receive.py"] },
  { name: "receive.php", tool: "php", run: (port) => ["-S", `127.0.0.1:${port}`, "receive.php"] },
  { name: "receive.go", tool: "go", run: () => ["run", "receive.go"] },
];

function start({ tool, run }: Program, variables: { PORT: string; SIGNING_SECRET: string }) {
  const parts = [...withVariables(variables, tool), ...run(variables.PORT)];
  const child: ChildProcess = spawn("env", parts, { cwd: folder, detached: true });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (said += chunk));
  return {
    said: () => said,
    async stop() {
      const closed = once(child, "close");
      // The group: "go run" starts a child process.
      process.kill(-child.pid!, "SIGKILL");
      await closed;
    },
  };
}

type Checked = { readonly body: Buffer; readonly headers: Readonly<Record<string, string>> };

async function checkByHand({ body, headers }: Checked, secret: string) {
  await writeFile(join(folder, "body.json"), body);
  const named = Object.entries(headers).map(([name, value]) => [name.replace("-", "_").toUpperCase(), value]);
  const variables = { SIGNING_SECRET: secret, ...Object.fromEntries(named) };
  const { status, stdout } = spawnSync("env", [...withVariables(variables, "sh"), "verify.sh", "body.json"], {
    cwd: folder,
  });
  return { status, said: stdout.toString().trim() };
}

describe("the receivers of the webhook guide", () => {
  it.for(programs)(
    "accept real deliveries and refuse tampered ones: $name",
    { timeout: 90_000 },
    async (program, context) => {
      skipWithout(program.tool, context);
      const port = String(await freePortRange(1));
      const url = `http://127.0.0.1:${port}/webhooks`;
      const merchantId = harness.context.runtime.uuid();
      const { endpoint, signingSecret } = await registerEndpoint(harness.context, { merchantId, url });
      const key = { merchantId, endpointId: endpoint.id };
      const running = start(program, { PORT: port, SIGNING_SECRET: signingSecret.expose() });
      const post = async ({ headers, body }: ReturnType<typeof sign>) =>
        (await fetch(url, { method: "POST", headers, body: new Uint8Array(body) })).status;
      try {
        await vi.waitFor(
          async () => expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(400),
          starting,
        );
        expect(await verifyEndpoint(harness.context, key)).toMatchObject({
          verified: true,
          attempt: { statusCode: 204 },
        });
        const { sessionId, eventId } = await harness.emit({ merchantId });
        await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
        expect(await deliverOnce(harness.context)).toMatchObject([{ type: "succeeded" }]);
        expect(await replayDelivery(harness.context, { ...key, eventId })).toMatchObject({ statusCode: 204 });
        expect(await post(sign([newSecret(), signingSecret]))).toBe(204);
        for (const [what, webhook] of Object.entries(tampered(signingSecret))) {
          expect({ what, status: await post(webhook) }).toEqual({ what, status: 400 });
        }
        await vi.waitFor(() => expect(running.said()).toContain("ship order-1042"));
        // Two sessions of an order, in both orders of arrival: it ships once.
        for (const webhook of twoSessions(signingSecret, "order-twice")) expect(await post(webhook)).toBe(204);
        for (const webhook of twoSessions(signingSecret, "order-back").reverse()) expect(await post(webhook)).toBe(204);
        await vi.waitFor(() => expect(running.said()).toContain("ship order-back"));
      } finally {
        await running.stop();
      }
      // The one in PHP says where the look-up belongs, because its processes share no memory.
      const shipped = running.said().match(/ship order-\w+/g);
      if (program.tool !== "php") expect(shipped).toEqual(["ship order-1042", "ship order-twice", "ship order-back"]);
    },
  );

  it("check a saved body by hand: verify.sh", async (context) => {
    skipWithout("openssl", context);
    const secret = newSecret();
    const check = (webhook: Checked) => checkByHand(webhook, secret.expose());
    expect(await check(sign([secret]))).toEqual({ status: 0, said: "genuine" });
    expect(await check(sign([newSecret(), secret]))).toEqual({ status: 0, said: "genuine" });
    for (const [what, webhook] of Object.entries(tampered(secret))) {
      expect({ what, ...(await check(webhook)) }).toEqual({ what, status: 1, said: expect.stringMatching(/^refused/) });
    }
  });

  it("come to the signature of the check that needs no clock, whatever the time is", async (context) => {
    skipWithout("openssl", context);
    const signature = signVector()["webhook-signature"];
    expect(runLine(/^node --input-type=module -e '[^']+'$/m)).toBe(`${signature}\n`);
    const webhook = { body: Buffer.from(vector.body), headers: { ...signVector() } };
    const right = { status: 1, said: expect.stringMatching(/^refused: the signature is right, but \d+ seconds old$/) };
    expect(await checkByHand(webhook, vector.secret)).toEqual(right);
    const wrong = { status: 1, said: `refused: expected ${signature}` };
    const changed = { ...webhook, headers: { ...webhook.headers, "webhook-signature": "v1,AAAA" } };
    expect(await checkByHand(changed, vector.secret)).toEqual(wrong);
  });
});

describe("the lines of the webhook guide that cut the brand off a signing secret", () => {
  const lineOf = (language: string) => new RegExp(`^\\| ${language} \\| \`(.+)\` \\|$`, "m").exec(guide)![1]!;

  it.for([
    { language: "JavaScript", tool: "node", args: (line: string) => ["-e", `${line} console.log(secret)`] },
    { language: "Python", tool: "python3", args: (line: string) => ["-c", `import os\n${line}\nprint(secret)`] },
    { language: "PHP", tool: "php", args: (line: string) => ["-r", `${line} echo $secret;`] },
    { language: "shell", tool: "sh", args: (line: string) => ["-c", `${line}; echo "$secret"`] },
  ])("work in $language", ({ language, tool, args }, context) => {
    if (tool !== "sh") skipWithout(tool, context);
    const secret = newSecret().expose();
    const parts = [...withVariables({ SIGNING_SECRET: secret }, tool), ...args(lineOf(language))];
    const { stdout } = spawnSync("env", parts);
    expect(stdout.toString().trim()).toBe(secret.replace("switchyard_test_", ""));
  });
});
