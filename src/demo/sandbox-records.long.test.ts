import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { Receiver } from "../dev/testing/receiver.ts";
import { SandboxControl } from "../dev/testing/sandbox-control.ts";
import { freePort } from "./free-port.ts";
import { type RoleProcess, startRole } from "./roles.ts";

// Passes the check digit, and is no gateway's test card.
const foreignCard = "4539578763621486";

const folders = mkdtempSync(join(tmpdir(), "switchyard-sandbox-"));
afterAll(() => rmSync(folders, { recursive: true, force: true }));

let running: RoleProcess | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

/** Sandbox gateways in a process of their own, which can be killed and started again with the same records. */
async function startKillable() {
  const folder = mkdtempSync(join(folders, "run-"));
  const port = await freePort();
  const recordsFile = join(folder, "sandbox.sqlite");
  const start = async () => {
    running = await startRole("sandbox", {
      variables: {
        SWITCHYARD_SANDBOX_PORT: String(port),
        SWITCHYARD_SANDBOX_RECORDS_FILE: recordsFile,
        SWITCHYARD_ERROR_DOCS_URL: "https://pay.example.com/docs/errors",
      },
      logFile: join(folder, "sandbox.log"),
    });
  };
  await start();
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    recordsFile,
    control: new SandboxControl(origin),
    async killAndStart() {
      process.kill(running!.pid, "SIGKILL");
      await running!.ended;
      await start();
    },
    async stopAndStart() {
      await running!.close();
      await start();
    },
  };
}

type Body = Record<string, unknown>;
type Sent = {
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Body | Record<string, string>;
};
type Ask = (
  sent: Sent & { readonly form?: boolean; readonly key?: string; readonly keyName?: string },
) => Promise<Body>;

const amount = { value: 4900, currency: "EUR" };
const tenEuros = { value: 1000, currency: "EUR" };

/** A payment that is authorized, captured and refunded in part, by each gateway's own requests, each with a key. */
const payments: Readonly<Record<string, (ask: Ask) => Promise<unknown>>> = {
  async A(ask) {
    const post = (path: string, key: string, body: Record<string, string>) =>
      ask({ path, key, body, form: true, headers: { authorization: "Bearer sandbox_test_acme" } });
    const card = { "card[number]": "4242424242424242", capture_method: "manual", reference: "att_a" };
    const held = await post("/a/v1/authorizations", "hold", { amount: "4900", currency: "EUR", ...card });
    const path = `/a/v1/authorizations/${held.id}`;
    const captured = await post(`${path}/capture`, "capture", {});
    return [
      held,
      captured,
      await post(`${path}/refunds`, "refund", { amount: "1000", currency: "EUR", reference: "re_a" }),
    ];
  },
  async B(ask) {
    const post = (path: string, key: string, body: Body) =>
      ask({
        path,
        key,
        body: { merchantAccount: "test_acme", ...body },
        headers: { "x-api-key": "sandbox_test_acme" },
      });
    const held = await post("/b/payments", "hold", {
      amount,
      reference: "att_b",
      paymentMethod: { number: "4242424242424242" },
      additionalData: { manualCapture: "true" },
    });
    const path = `/b/payments/${held.pspReference}`;
    const captured = await post(`${path}/captures`, "capture", { amount, reference: "att_b" });
    return [held, captured, await post(`${path}/refunds`, "refund", { amount: tenEuros, reference: "re_b" })];
  },
  async Stripe(ask) {
    const post = (path: string, key: string, body: Record<string, string>) =>
      ask({ path, key, body, form: true, headers: { authorization: "Bearer sk_test_oftheemulator" } });
    const card = { "card[number]": "4242424242424242", "card[exp_month]": "03", "card[exp_year]": "2040" };
    const method = await post("/v1/payment_methods", "method", { type: "card", ...card });
    const named = { capture_method: "manual", "metadata[attempt_id]": "att_stripe" };
    const intent = await post("/v1/payment_intents", "intent", { amount: "4900", currency: "eur", ...named });
    const path = `/v1/payment_intents/${intent.id}`;
    const held = await post(`${path}/confirm`, "confirm", { payment_method: String(method.id) });
    const captured = await post(`${path}/capture`, "capture", {});
    const refund = { payment_intent: String(intent.id), amount: "1000", "metadata[refund_id]": "re_stripe" };
    return [method, intent, held, captured, await post("/v1/refunds", "refund", refund)];
  },
  async Adyen(ask) {
    const post = (path: string, key: string, body: Body) =>
      ask({
        path: `/v72${path}`,
        key,
        body: { merchantAccount: "TheShopECOM", ...body },
        headers: { "x-api-key": "AQEanykeyofthemerchant" },
      });
    const held = await post("/payments", "hold", {
      amount,
      reference: "att_adyen",
      paymentMethod: { number: "4111111111111111", expiryMonth: "03", expiryYear: "2040", cvc: "737" },
      additionalData: { manualCapture: "true" },
      returnUrl: "https://return.invalid/",
    });
    const path = `/payments/${held.pspReference}`;
    const captured = await post(`${path}/captures`, "capture", { amount, reference: "att_adyen" });
    return [held, captured, await post(`${path}/refunds`, "refund", { amount: tenEuros, reference: "re_adyen" })];
  },
};

describe("the sandbox gateways with a file for their records", () => {
  it.each(Object.keys(payments))("answer every repeat as before after they were killed: %s", async (gateway) => {
    const sandbox = await startKillable();
    const ask = askAt(sandbox.origin);
    const before = await payments[gateway]!(ask);
    const [recorded] = await sandbox.control.authorizations();
    expect(recorded).toMatchObject({ status: "captured", refunds: [{ status: "succeeded", value: 1000 }] });
    await sandbox.killAndStart();
    expect(await sandbox.control.authorizations()).toEqual([recorded]);
    expect(await payments[gateway]!(ask)).toEqual(before);
    expect(await sandbox.control.authorizations()).toEqual([recorded]);
  });

  it("show PayPal's orders, and repeat its requests, after they were killed", async () => {
    const sandbox = await startKillable();
    const ask = askAt(sandbox.origin);
    const { access_token: token } = await ask({
      path: "/v1/oauth2/token",
      headers: { authorization: `Basic ${btoa("ClientOfTheEmulator_test_shop:SecretOfTheEmulator00")}` },
      body: { grant_type: "client_credentials" },
      form: true,
    });
    const post = (path: string, key: string, body: Body) =>
      ask({
        path,
        key,
        body,
        keyName: "paypal-request-id",
        headers: { authorization: `Bearer ${token}`, prefer: "return=representation" },
      });
    const money = { currency_code: "EUR", value: "49.00" };
    const unit = { reference_id: "att_paypal", invoice_id: "att_paypal", amount: money };
    const create = () => post("/v2/checkout/orders", "create", { intent: "AUTHORIZE", purchase_units: [unit] });
    const { id } = await create();
    const card = { number: "4242424242424242", expiry: "2040-03", security_code: "123" };
    const pay = () => post(`/v2/checkout/orders/${id}/authorize`, "pay", { payment_source: { card } });
    const paid = (await pay()) as { purchase_units: { payments: { authorizations: { id: string }[] } }[] };
    const held = paid.purchase_units[0]!.payments.authorizations[0]!.id;
    const capture = () => post(`/v2/payments/authorizations/${held}/capture`, "capture", { amount: money });
    const captured = await capture();
    const refund = () =>
      post(`/v2/payments/captures/${captured.id}/refund`, "refund", {
        amount: { currency_code: "EUR", value: "10.00" },
        invoice_id: "re_paypal",
      });
    const shown = async () => [await create(), await pay(), await capture(), await refund()];
    await shown();
    const before = await shown();
    const recorded = await sandbox.control.authorizations();
    await sandbox.killAndStart();
    expect(await shown()).toEqual(before);
    expect(await sandbox.control.authorizations()).toEqual(recorded);
  });

  it("report a capture that a stop interrupted, once they run again", async () => {
    const sandbox = await startKillable();
    const intake = await Receiver.start();
    await sandbox.control.setAccount("test_acme", { notificationUrl: intake.url, hmacKey: "ab".repeat(32) });
    await sandbox.control.hold("b.result");
    await payments.B!(askAt(sandbox.origin));
    await sandbox.stopAndStart();
    const body = await intake.waitFor((request) => request.body.toString().includes('"CAPTURE"'));
    expect(body.body.toString()).toContain('"success":"true"');
    expect(await sandbox.control.authorizations("att_b")).toMatchObject([{ status: "captured", capturedValue: 4900 }]);
    await intake.close();
  });

  it("keep a customer's answer at the bank, and decide the payment after they were killed", async () => {
    const sandbox = await startKillable();
    const post = (path: string, key: string, body: Record<string, string>) =>
      askAt(sandbox.origin)({ path, key, body, form: true, headers: { authorization: "Bearer sandbox_test_acme" } });
    const asked = await post("/a/v1/authorizations", "hold", {
      amount: "4900",
      currency: "EUR",
      "card[number]": "4000000000007106",
      capture_method: "manual",
      reference: "att_asked",
      authentication: "as_needed",
      return_url: "https://shop.example/back",
    });
    expect(asked).toMatchObject({ status: "requires_action" });
    await fetch(`${sandbox.origin}/bank/${asked.id}`, {
      method: "POST",
      body: new URLSearchParams({ code: "123456" }),
      redirect: "manual",
    });
    await sandbox.killAndStart();
    expect(await post(`/a/v1/authorizations/${asked.id}/confirm`, "confirm", {})).toMatchObject({ status: "held" });
  });

  it("write no card number but those of test cards, in a file that only its owner reads", async () => {
    const sandbox = await startKillable();
    const authorization = "Bearer sk_test_oftheemulator";
    const card = { "card[number]": foreignCard, "card[exp_month]": "03", "card[exp_year]": "2040" };
    const ask = askAt(sandbox.origin);
    const path = "/v1/payment_methods";
    const method = await ask({
      path,
      key: "method",
      body: { type: "card", ...card },
      form: true,
      headers: { authorization },
    });
    expect(method).toMatchObject({ card: { last4: "1486" } });
    await ask({
      path: "/a/v1/authorizations",
      key: "at A",
      body: { amount: "4900", currency: "EUR", "card[number]": foreignCard, reference: "att_a" },
      form: true,
      headers: { authorization: "Bearer sandbox_test_acme" },
    });
    await ask({
      path: "/b/payments",
      key: "at B",
      body: { merchantAccount: "test_acme", amount, reference: "att_b", paymentMethod: { number: foreignCard } },
      headers: { "x-api-key": "sandbox_test_acme" },
    });
    await running!.close();
    const written = ["", "-wal"].map((ending) => tryRead(sandbox.recordsFile + ending)).join("");
    expect(written).toContain("stripe payment method");
    expect(written).not.toContain(foreignCard);
    // The fingerprint of a request could betray the number.
    expect(written).not.toContain("fingerprint");
    expect(statSync(sandbox.recordsFile).mode & 0o777).toBe(0o600);
  });
});

function tryRead(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function askAt(origin: string): Ask {
  return async ({ path, headers = {}, body, form, key, keyName = "idempotency-key" }) => {
    const response = await fetch(origin + path, {
      method: "POST",
      headers: { ...headers, ...(key && { [keyName]: key }) },
      ...(body && { body: form ? new URLSearchParams(body as Record<string, string>) : JSON.stringify(body) }),
    });
    return (await response.json()) as Body;
  };
}
