import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { SandboxControl } from "../../dev/testing/sandbox-control.ts";
import { startSandbox } from "../main.ts";

const sandbox = await forFile(() => startSandbox({ port: 0 }));
const control = new SandboxControl(sandbox.origin);
const token = await signIn("ClientOfTheEmulator_test_emulator");

type Answer = { status: number; body: Record<string, never> };

async function signIn(clientId: string, secret = "SecretOfTheEmulator00"): Promise<string> {
  const response = await fetch(`${sandbox.origin}/v1/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const answer = (await response.json()) as { access_token?: string; error?: string };
  return answer.access_token ?? String(answer.error);
}

async function ask(method: string, path: string, options: { body?: object; key?: string; token?: string } = {}) {
  const { body, key } = options;
  const response = await fetch(sandbox.origin + path, {
    method,
    headers: {
      authorization: `Bearer ${options.token ?? token}`,
      prefer: "return=representation",
      ...(key && { "paypal-request-id": key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() } as Answer;
}

const create = (reference: string, key?: string, money = { currency_code: "EUR", value: "49.00" }) =>
  ask("POST", "/v2/checkout/orders", {
    ...(key && { key }),
    body: { intent: "AUTHORIZE", purchase_units: [{ reference_id: reference, invoice_id: reference, amount: money }] },
  });
const cardOf = (number: string) => ({ payment_source: { card: { number, expiry: "2040-03", security_code: "123" } } });

async function authorized(reference: string) {
  const order = String((await create(reference)).body.id);
  const { body } = await ask("POST", `/v2/checkout/orders/${order}/authorize`, { body: cardOf("4242424242424242") });
  const [unit] = (body as { purchase_units: { payments: { authorizations: { id: string }[] } }[] } & object)
    .purchase_units;
  return { order, path: `/v2/payments/authorizations/${unit!.payments.authorizations[0]!.id}` };
}

const issue = (name: string) => ({ status: 422, body: { details: [{ issue: name }] } });

describe("PayPal's emulator", () => {
  it("forgets request ids after six hours: the same one then names another order", async () => {
    const first = await create("att_forgotten", "forgotten");
    expect((await create("att_forgotten", "forgotten")).body.id).toBe(first.body.id);
    await control.setClockAhead(6 * 3_600_000);
    expect((await create("att_forgotten", "forgotten")).body.id).not.toBe(first.body.id);
    await control.setClockAhead(0);
  });

  it("opens an account for a client and its secret, and accepts no other token", async () => {
    expect(await signIn("ClientOfNobody")).toBe("invalid_client");
    expect(await signIn("ClientOfTheEmulator_test_emulator", "short")).toBe("invalid_client");
    expect((await ask("GET", "/v2/checkout/orders/X", { token: "A21AAother" })).status).toBe(401);
    const order = String((await create("att_ours")).body.id);
    const others = await signIn("ClientOfOthers_test_others");
    expect((await ask("GET", `/v2/checkout/orders/${order}`, { token: others })).status).toBe(404);
  });

  it("shows a repeat of a key the latest state of what was made with it, whatever it requests", async () => {
    const first = await create("att_repeat", "repeat");
    const path = `/v2/checkout/orders/${first.body.id}`;
    await ask("POST", `${path}/authorize`, { key: "pay", body: cardOf("4242424242424242") });
    const again = await create("att_changed", "repeat", { currency_code: "EUR", value: "1.00" });
    expect(first).toMatchObject({ status: 201, body: { status: "CREATED" } });
    expect(again).toMatchObject({ status: 200, body: { id: first.body.id, status: "COMPLETED" } });
    expect((await create("att_repeat", "other")).body.id).not.toBe(first.body.id);
    expect(await ask("POST", `${path}/authorize`, { key: "pay", body: cardOf("4000000000009995") })).toMatchObject({
      status: 200,
    });
    expect(await ask("POST", `${path}/authorize`, { key: "more", body: cardOf("4242424242424242") })).toMatchObject(
      issue("ORDER_ALREADY_AUTHORIZED"),
    );
    expect(await control.authorizations("att_repeat")).toHaveLength(1);
  });

  it("refuses a repeat while the first runs", async () => {
    const path = `/v2/checkout/orders/${(await create("att_busy")).body.id}/authorize`;
    const slow = { key: "busy", body: cardOf("4000000000002040") };
    const first = ask("POST", path, slow).catch(() => "lost");
    await control.paused({ operation: "paypal.silence", reference: "att_busy" });
    for (const key of ["busy", "other"]) {
      const expected = key === "busy" ? { status: 409 } : issue("ORDER_ALREADY_AUTHORIZED");
      expect(await ask("POST", path, { ...slow, key })).toMatchObject(expected);
    }
    await control.release({ operation: "paypal.silence", reference: "att_busy" });
    expect(await first).toBe("lost");
    expect(await ask("POST", path, slow)).toMatchObject({ status: 200, body: { status: "COMPLETED" } });
  });

  it("captures the whole amount once, and refuses a payment that has ended", async () => {
    const { path } = await authorized("att_capture");
    const body = { amount: { currency_code: "EUR", value: "49.00" }, final_capture: true };
    expect(
      await ask("POST", `${path}/capture`, { body: { amount: { currency_code: "EUR", value: "49.01" } } }),
    ).toMatchObject(issue("MAX_CAPTURE_AMOUNT_EXCEEDED"));
    const first = await ask("POST", `${path}/capture`, { key: "cap", body });
    expect(first).toMatchObject({ status: 201, body: { status: "COMPLETED", invoice_id: "att_capture" } });
    expect(await ask("POST", `${path}/capture`, { key: "cap", body })).toEqual(first);
    expect(await ask("POST", `${path}/capture`, { key: "cap2", body })).toMatchObject(
      issue("AUTHORIZATION_ALREADY_CAPTURED"),
    );
    expect(await ask("POST", `${path}/void`)).toMatchObject(issue("PREVIOUSLY_CAPTURED"));
    const other = await authorized("att_void");
    expect(await ask("POST", `${other.path}/void`)).toMatchObject({ status: 200, body: { status: "VOIDED" } });
    expect(await ask("POST", `${other.path}/void`)).toMatchObject(issue("PREVIOUSLY_VOIDED"));
    expect(await ask("POST", `${other.path}/capture`, { key: "cap3", body })).toMatchObject(
      issue("AUTHORIZATION_VOIDED"),
    );
  });

  it("counts each currency as PayPal does", async () => {
    const answerTo = (currency_code: string, value: string) => create("att_money", undefined, { currency_code, value });
    expect(await answerTo("JPY", "4900")).toMatchObject({ status: 201 });
    expect(await answerTo("HUF", "49.00")).toMatchObject(issue("DECIMALS_NOT_SUPPORTED"));
    expect(await answerTo("EUR", "49.001")).toMatchObject(issue("DECIMAL_PRECISION"));
    expect(await answerTo("EUR", "0.00")).toMatchObject(issue("CANNOT_BE_ZERO_OR_NEGATIVE"));
    expect(await answerTo("XYZ", "49.00")).toMatchObject(issue("INVALID_CURRENCY_CODE"));
  });
});
