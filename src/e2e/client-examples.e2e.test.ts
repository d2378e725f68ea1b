/** The clients' examples as anybody runs them: processes of their own, against a real demo. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePortRange } from "../testing/free-port-range.ts";
import { runCommand } from "../testing/run-command.ts";
import { ApiCheckout, type OpenedSession } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";

const examples = join(import.meta.dirname, "..", "client", "examples");
let demo: TestDemo;
let secretKey: string;

beforeAll(async () => {
  demo = await startTestDemo();
  secretKey = demo.file.merchants[0]!.test.secretKey;
});
afterAll(() => demo?.close());

/** Starts an example with only these variables, as somebody who knows what its first lines say. */
function start(name: string, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [join(examples, name)], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  return child;
}

/** Waits until the example has said this. */
async function said(child: ChildProcess, expected: string): Promise<void> {
  let heard = "";
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    heard += chunk;
    if (heard.includes(expected)) return;
  }
  throw new Error(`it ended without "${expected}":\n${heard}`);
}

/** The answer of a command of the command line. */
async function command(...parts: string[]) {
  const { code, out, err } = await runCommand([...parts, "--demo", demo.stateFolder, "--json"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

describe("merchant-backend.ts", () => {
  it("opens an order, which is paid when the signed webhook says so, and refuses a webhook that is not", async () => {
    const port = await freePortRange(1);
    const origin = `http://127.0.0.1:${port}`;
    const { endpoint, signingSecret } = await command("endpoint", "add", `${origin}/webhooks`);
    const { connectOrigin } = demo.file;
    const backend = start("merchant-backend.ts", {
      API_ORIGIN: connectOrigin,
      SECRET_KEY: secretKey,
      SIGNING_SECRET: signingSecret,
      PORT: String(port),
    });
    await said(backend, `Listening on ${origin}`);
    await Promise.all([
      said(backend, "webhook_endpoint.test"),
      command("endpoint", "verify", endpoint.endpointId).then((verified) => expect(verified.verified).toBe(true)),
    ]);

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
  it("creates a session, reads it, lists it, and tells a refusal", async () => {
    const service = start("internal-caller.ts", { GRPC_ADDRESS: demo.file.grpcAddress, SECRET_KEY: secretKey });
    const [out, [code]] = await Promise.all([text(service.stdout!), once(service, "close")]);
    expect(out).toMatch(
      /^ps_\w{26} waits for a card\norder-\S+: 4900 EUR\nrefused: idempotency_key_reused after 1 try\n$/,
    );
    expect(code).toBe(0);
  });
});

describe("both", () => {
  it.each(["merchant-backend.ts", "internal-caller.ts"])("say what they need: %s", async (name) => {
    const child = spawn(process.execPath, [join(examples, name)], { env: {}, stdio: ["ignore", "pipe", "pipe"] });
    const [needed, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect({ needed, code }).toEqual({ needed: expect.stringMatching(/^Set .*SECRET_KEY.*\.\n$/), code: 1 });
  });
});
