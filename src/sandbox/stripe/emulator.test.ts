import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { SandboxControl } from "../../dev/testing/sandbox-control.ts";
import { startSandbox } from "../main.ts";

const sandbox = await forFile(() => startSandbox({ port: 0 }));
const control = new SandboxControl(sandbox.origin);

type Answer = {
  status: number;
  replayed: boolean;
  body: Record<string, unknown> & { error?: Record<string, unknown> };
};

async function ask(method: string, path: string, form: Record<string, string> = {}, key?: string): Promise<Answer> {
  const response = await fetch(sandbox.origin + path, {
    method,
    headers: { authorization: "Bearer sk_test_oftheemulator", ...(key && { "idempotency-key": key }) },
    ...(method === "POST" && { body: new URLSearchParams(form) }),
  });
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed") === "true",
    body: (await response.json()) as Answer["body"],
  };
}

const post = (path: string, form: Record<string, string> = {}, key?: string) => ask("POST", path, form, key);
const create = (reference: string, key?: string) =>
  post(
    "/v1/payment_intents",
    { amount: "4900", currency: "eur", capture_method: "manual", "metadata[attempt_id]": reference },
    key,
  );
const card = { type: "card", "card[exp_month]": "03", "card[exp_year]": "2040", "card[cvc]": "123" };

async function prepare(reference: string, number: string) {
  const intent = (await create(reference)).body.id;
  const method = await post("/v1/payment_methods", { ...card, "card[number]": number });
  return { path: `/v1/payment_intents/${intent}`, form: { payment_method: String(method.body.id) } };
}

describe("Stripe's emulator", () => {
  it("repeats the first answer for a key, and marks it as a repeat", async () => {
    const first = await create("att_repeat", "repeat");
    const second = await create("att_repeat", "repeat");
    expect(first).toMatchObject({ status: 200, replayed: false });
    expect(second).toEqual({ ...first, replayed: true });
    expect((await create("att_repeat", "other")).body.id).not.toBe(first.body.id);
  });

  it("refuses a key with other content, and stores nothing for a request that fails validation", async () => {
    await create("att_content", "content");
    expect(await create("att_changed", "content")).toMatchObject({
      status: 400,
      body: { error: { type: "idempotency_error" } },
    });
    expect(await post("/v1/payment_intents", { amount: "0" }, "invalid")).toMatchObject({ status: 400 });
    expect(await create("att_valid", "invalid")).toMatchObject({ status: 200, replayed: false });
  });

  it("keeps an error of its own for the key", async () => {
    const { path, form } = await prepare("att_kept", "4000000000005027");
    expect(await post(`${path}/confirm`, form, "kept")).toMatchObject({ status: 500, replayed: false });
    expect(await post(`${path}/confirm`, form, "kept")).toMatchObject({ status: 500, replayed: true });
    expect((await ask("GET", path)).body).toMatchObject({ status: "requires_capture", amount_capturable: 4900 });
  });

  it("keeps the error of a fault for the key, and forgets keys after a day", async () => {
    await control.setFaults({ seed: "kept", rates: { error_kept: 1 }, lateMsMax: 0 });
    expect(await create("att_fault", "fault")).toMatchObject({ status: 500, replayed: false });
    await control.setFaults();
    expect(await create("att_fault", "fault")).toMatchObject({ status: 500, replayed: true });
    await control.setClockAhead(24 * 3_600_000);
    expect(await create("att_fault", "fault")).toMatchObject({ status: 200, replayed: false });
    await control.setClockAhead(0);
  });

  it("refuses a repeat while the first runs, and every other request while the payment is in progress", async () => {
    const { path, form } = await prepare("att_busy", "4000000000002040");
    const first = post(`${path}/confirm`, form, "busy").catch(() => "lost");
    await control.paused({ operation: "stripe.silence", reference: "att_busy" });
    expect(await post(`${path}/confirm`, form, "busy")).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency_key_in_use" } },
    });
    expect(await post(`${path}/cancel`, {}, "cancel")).toMatchObject({
      status: 429,
      body: { error: { code: "lock_timeout" } },
    });
    await control.release({ operation: "stripe.silence", reference: "att_busy" });
    expect(await first).toBe("lost");
    expect(await post(`${path}/confirm`, form, "busy")).toMatchObject({
      status: 200,
      replayed: true,
      body: { status: "requires_capture" },
    });
  });

  it("refuses to confirm or capture a cancelled payment, and shows the payment with the refusal", async () => {
    const { path, form } = await prepare("att_cancelled", "4242424242424242");
    expect((await post(`${path}/cancel`)).body).toMatchObject({ status: "canceled" });
    for (const action of ["confirm", "capture", "cancel"]) {
      expect(await post(`${path}/${action}`, form)).toMatchObject({
        status: 400,
        body: { error: { code: "payment_intent_unexpected_state", payment_intent: { status: "canceled" } } },
      });
    }
    expect(await control.authorizations("att_cancelled")).toEqual([]);
  });

  it("refuses a key of another shape, and other accounts' payments", async () => {
    const { path } = await prepare("att_ours", "4242424242424242");
    const as = (key: string) => fetch(sandbox.origin + path, { headers: { authorization: `Bearer ${key}` } });
    expect((await as("pk_test_oftheemulator")).status).toBe(401);
    expect((await as("sk_test_somebodyelse")).status).toBe(404);
  });

  it("expands the charge on request, and shows a block of Radar's only in it", async () => {
    const { path, form } = await prepare("att_radar", "4000000000004954");
    const { status, body } = await post(`${path}/confirm`, form);
    expect({ status, error: body.error }).toMatchObject({ status: 402, error: { decline_code: "generic_decline" } });
    expect((await ask("GET", path)).body.latest_charge).toMatch(/^ch_/);
    const { latest_charge } = (await ask("GET", `${path}?expand[0]=latest_charge`)).body;
    expect(latest_charge).toMatchObject({ outcome: { type: "blocked" }, status: "failed" });
  });
});
