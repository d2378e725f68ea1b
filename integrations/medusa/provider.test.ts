/** The provider against an API of the test's own, without Medusa. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Receiver } from "../../src/dev/testing/receiver.ts";
import { signWebhook } from "../../src/events/signature.ts";
import { Secret } from "../../src/platform/secrets.ts";
import plugin, { cartCheck } from "./index.ts";
import { type Options, SwitchyardProvider } from "./provider.ts";

const execute = promisify(execFile);
const webhookSecret = `switchyard_test_whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const open = {
  sessionId: "ps_1",
  status: "CREATED",
  processing: false,
  amountMinor: 4900,
  currency: "EUR",
  orderRef: "pay_col_1",
  capture: "automatic",
  metadata: { medusa_payment_session: "payses_1" },
};
const paid = { ...open, status: "SUCCEEDED", amountCapturedMinor: 4900 };
const held = { ...open, capture: "manual", held: { since: "2026-03-02T10:15:00Z", until: "2026-03-08T10:15:00Z" } };
const data = { session_id: "payses_1", sessionId: "ps_1", amountMinor: 4900, currency: "EUR", amount: "49" };

let api: Receiver;
/** The rows of Medusa's payment module. */
let sessions: Record<string, string>;
let captures: Record<string, unknown>;
beforeEach(async () => {
  api = await Receiver.start();
  onTestFinished(() => api.close());
  sessions = { payses_1: "pay_col_1" };
  captures = {};
});

function provider(options: Partial<Options> = {}): SwitchyardProvider {
  const listed = async (row: object | undefined) => (row === undefined ? [] : [row]);
  const collectionOf = (id: string) =>
    sessions[id] === undefined ? undefined : { payment_collection_id: sessions[id] };
  const cradle = {
    paymentSessionService: { list: ({ id }: { id: string }) => listed(collectionOf(id)) },
    captureService: { list: ({ id }: { id: string }) => listed(captures[id] as object | undefined) },
  };
  const all = { apiOrigin: api.url, secretKey: "sk", webhookSecret, ...options };
  return new SwitchyardProvider(cradle as ConstructorParameters<typeof SwitchyardProvider>[0], all);
}

/** Answers each call, such as "GET /payment-sessions/ps_1", with a status of 200 and this body, or a refusal. */
function answer(answers: Readonly<Record<string, object>>): void {
  api.answerWith(({ method, path }) => {
    const body = answers[`${method} ${path.replace("/api/v1", "")}`] ?? {
      code: "not_found",
      detail: "None.",
      status: 404,
    };
    return { status: "code" in body ? ((body as { status?: number }).status ?? 409) : 200, body: JSON.stringify(body) };
  });
}
const refusalOf = (code: string, state?: object) => ({ code, detail: `It is ${code}.`, status: 409, state });
const bodies = () =>
  api.requests.filter(({ method }) => method === "POST").map(({ body }) => JSON.parse(`${body}` || "{}"));
const calls = () => api.requests.map(({ method, path }) => `${method} ${path.replace("/api/v1/payment-sessions", "")}`);

describe("a new payment", () => {
  beforeEach(() => void cartCheck());
  const created = { ...open, clientSecret: "ps_1_secret", vault: { mode: "self_hosted" } };
  const input = { amount: { value: "49.000" }, currency_code: "eur", context: { idempotency_key: "payses_1" } };

  it("has the collection as its order, Medusa's key, and none of the customer's own data", async () => {
    answer({ "POST /payment-sessions": created });
    const own = { session_id: "payses_1", sessionId: "ps_2", amountMinor: 1, capture: "manual" };
    const made = await provider({ capture: "manual" }).initiatePayment({ ...input, data: own });
    const { clientSecret, vault } = created;
    expect(made).toEqual({ id: "ps_1", status: "pending", data: { ...data, apiBase: api.url, clientSecret, vault } });
    const { metadata, orderRef, amountMinor, currency } = open;
    expect(bodies()).toEqual([{ amountMinor, currency, orderRef, capture: "manual", metadata }]);
    expect(api.requests[0]!.headers).toMatchObject({ "idempotency-key": "payses_1", authorization: "Bearer sk" });
  });

  it("is refused until Medusa checks carts", async () => {
    const script = `
      import { SwitchyardProvider } from "./provider.ts";
      import { cartCheck, requireCartCheck } from "./cart-check.ts";
      const provider = new SwitchyardProvider({}, { apiOrigin: "${api.url}", secretKey: "sk", webhookSecret: "${webhookSecret}" });
      await provider.initiatePayment(${JSON.stringify({ ...input, data: { session_id: "payses_1" } })}).catch(({ message }) => console.log(message));
      cartCheck();
      requireCartCheck();`;
    const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", script], {
      cwd: import.meta.dirname,
    });
    expect(stdout).toBe(
      "Medusa has no cartCheck() of @switchyard/medusa in the validate hook of its completeCartWorkflow.\n",
    );
  });

  it("is refused for a session that Medusa does not have, and with the API's words for its refusal", async () => {
    const other = { ...input, data: { session_id: "payses_2" } };
    await expect(provider().initiatePayment(other)).rejects.toThrow("Medusa has no payment session payses_2.");
    expect(api.requests).toEqual([]);
    answer({ "POST /payment-sessions": { ...refusalOf("invalid_field"), status: 400 } });
    const refused = provider().initiatePayment({ ...input, data: { session_id: "payses_1" } });
    await expect(refused).rejects.toMatchObject({
      type: "not_allowed",
      message: "It is invalid_field. (invalid_field)",
    });
  });

  it("replaces the old one when the amount changes, and not otherwise", async () => {
    answer({ "GET /payment-sessions/ps_1": open, "POST /payment-sessions": { ...created, amountMinor: 9800 } });
    expect(await provider().updatePayment({ ...input, data })).toEqual({ status: "pending", data });
    expect(bodies()).toEqual([]);
    const changed = await provider().updatePayment({ ...input, amount: 98, data });
    expect(changed).toMatchObject({ status: "pending", data: { amountMinor: 9800, amount: "98" } });
    expect(bodies()).toMatchObject([{ amountMinor: 9800, replaces: "ps_1", orderRef: "pay_col_1" }]);
    expect(api.requests.at(-1)!.headers).toMatchObject({ "idempotency-key": "ps_1-9800-EUR" });
  });
});

describe("the status", () => {
  it.each([
    ["pending", open],
    ["pending", { ...open, processing: true }],
    ["requires_more", { ...open, processing: true, awaitingCustomer: {} }],
    ["authorized", held],
    ["captured", paid],
    ["authorized", { ...paid, amountCapturedMinor: 900 }],
    ["captured", { ...paid, amountRefundedMinor: 900 }],
    ["canceled", { ...paid, amountRefundedMinor: 4900 }],
    ["error", { ...open, status: "DECLINED" }],
    ["error", { ...open, status: "DEGRADED" }],
    ["canceled", { ...open, status: "EXPIRED" }],
  ])("is %s, as the API says", async (status, session) => {
    answer({ "GET /payment-sessions/ps_1": session });
    const shown = { ...data, clientSecret: "ps_1_secret", vault: {}, status: "captured" };
    const read = await provider().authorizePayment({ data: shown });
    expect(read.status).toBe(status);
    expect("clientSecret" in read.data!).toBe(["pending", "requires_more"].includes(status));
  });

  it("is refused without a session of the provider, and for one that the API does not know", async () => {
    const none = provider().authorizePayment({ data: {} });
    await expect(none).rejects.toThrow("The payment has no session of this provider.");
    answer({});
    await expect(provider().authorizePayment({ data })).rejects.toThrow("None. (not_found)");
  });
});

describe("the end of a payment", () => {
  it("voids a hold, and is done for a session that ended unpaid", async () => {
    answer({ "POST /payment-sessions/ps_1/cancel": { ...held, status: "DECLINED" } });
    expect(await provider().cancelPayment({ data })).toEqual({ data });
    answer({ "POST /payment-sessions/ps_1/cancel": refusalOf("session_ended", { status: "EXPIRED" }) });
    expect(await provider().cancelPayment({ data })).toEqual({ data });
    expect(await provider().cancelPayment({ data: {} })).toEqual({ data: {} });
  });

  it("is refused for a captured payment and one that is being paid", async () => {
    for (const refused of [refusalOf("session_ended", { status: "SUCCEEDED" }), refusalOf("session_being_paid")]) {
      answer({ "POST /payment-sessions/ps_1/cancel": refused, "GET /payment-sessions/ps_1": open });
      await expect(provider().cancelPayment({ data })).rejects.toThrow(refused.code);
      await expect(provider().deletePayment({ data })).rejects.toThrow(refused.code);
    }
  });

  it("deletes a session that is unpaid or refunded only, because customers can ask for it", async () => {
    for (const session of [held, paid, { ...paid, amountRefundedMinor: 900 }]) {
      answer({ "GET /payment-sessions/ps_1": session, "POST /payment-sessions/ps_1/cancel": session });
      await expect(provider().deletePayment({ data })).rejects.toThrow("The payment ps_1 is paid.");
    }
    answer({ "GET /payment-sessions/ps_1": { ...paid, amountRefundedMinor: 4900 } });
    expect(await provider().deletePayment({ data })).toEqual({ data });
    expect(calls()).not.toContain("POST /ps_1/cancel");
    answer({
      "GET /payment-sessions/ps_1": open,
      "POST /payment-sessions/ps_1/cancel": { ...open, status: "EXPIRED" },
    });
    expect(await provider().deletePayment({ data })).toEqual({ data });
    expect(calls().at(-1)).toBe("POST /ps_1/cancel");
  });
});

describe("a capture", () => {
  const input = { data, context: { idempotency_key: "capt_1" } };

  it("captures the amount of Medusa's capture, once", async () => {
    captures = { capt_1: { raw_amount: { value: "9.5" } }, capt_2: { raw_amount: { value: "9.5" } } };
    answer({
      "GET /payment-sessions/ps_1": held,
      "POST /payment-sessions/ps_1/capture": { ...paid, capture: "manual" },
    });
    const captured = await provider().capturePayment(input);
    expect(captured).toEqual({ data: { ...data, captureId: "capt_1" } });
    expect(bodies()).toEqual([{ amountMinor: 950 }]);
    const again = { ...captured, context: { idempotency_key: "capt_2" } };
    await expect(provider().capturePayment(again)).rejects.toThrow("can be captured once");
    expect(bodies()).toHaveLength(1);
  });

  it("orders nothing for a payment that was captured with its approval", async () => {
    answer({ "GET /payment-sessions/ps_1": paid });
    expect(await provider().capturePayment(input)).toEqual({ data });
    expect(bodies()).toEqual([]);
  });

  it("is refused while it is not confirmed, when the gateway refused it, and for a capture that Medusa does not have", async () => {
    answer({ "GET /payment-sessions/ps_1": held });
    await expect(provider().capturePayment(input)).rejects.toThrow("Medusa has no capture capt_1.");
    captures = { capt_1: { raw_amount: { value: "49" } } };
    for (const [status, words] of [
      ["CREATED", "not confirmed yet"],
      ["DEGRADED", "the hold is voided"],
    ]) {
      const after = { ...held, status };
      answer({ "GET /payment-sessions/ps_1": held, "POST /payment-sessions/ps_1/capture": after });
      await expect(provider().capturePayment(input)).rejects.toThrow(words);
    }
  });
});

describe("a refund", () => {
  const context = { idempotency_key: "ref_1" };
  const made = { refundId: "re_1", status: "PENDING" };

  it("is of exactly the amount, with Medusa's id as its key", async () => {
    answer({ "POST /payment-sessions/ps_1/refunds": made });
    expect(await provider().refundPayment({ amount: { value: "9.50" }, data, context })).toEqual({ data });
    expect(bodies()).toEqual([{ amountMinor: 950, refundRef: "ref_1" }]);
    expect(api.requests[0]!.headers["idempotency-key"]).toBe("ref_1");
  });

  it("is refused with more decimals than the currency has, but for the whole payment", async () => {
    answer({ "POST /payment-sessions/ps_1/refunds": made });
    const whole = { ...data, amountMinor: 1189, amount: "11.8881" };
    const part = provider().refundPayment({ amount: { value: "5.9441" }, data: whole, context });
    await expect(part).rejects.toThrow("amount must have at most 2 decimals in this currency.");
    expect(bodies()).toEqual([]);
    await provider().refundPayment({ amount: { value: "11.88810" }, data: whole, context });
    expect(bodies()).toMatchObject([{ amountMinor: 1189 }]);
  });

  it("fails with the gateway's code and the API's", async () => {
    answer({ "POST /payment-sessions/ps_1/refunds": { ...made, status: "FAILED", failureCode: "refund_not_allowed" } });
    await expect(provider().refundPayment({ amount: 1, data, context })).rejects.toThrow("refund_not_allowed");
    answer({ "POST /payment-sessions/ps_1/refunds": refusalOf("amount_exceeds_refundable") });
    await expect(provider().refundPayment({ amount: 1, data, context })).rejects.toThrow("amount_exceeds_refundable");
  });
});

describe("a webhook", () => {
  function post(type: string, session: object, secret = webhookSecret) {
    const rawData = Buffer.from(JSON.stringify({ id: "evt_1", type, data: session }));
    const headers = signWebhook({ id: "evt_1", sentAt: new Date(), body: rawData, secrets: [new Secret(secret)] });
    return { rawData, headers, data: JSON.parse(`${rawData}`) };
  }

  it.each([
    ["payment_session.succeeded", paid, "captured"],
    ["payment_session.held", held, "authorized"],
    ["payment_session.declined", { ...open, status: "DECLINED" }, "failed"],
    ["payment_session.degraded", { ...open, status: "DEGRADED" }, "failed"],
    ["payment_session.expired", { ...open, status: "EXPIRED" }, "canceled"],
    ["payment_session.pending", open, "pending"],
  ])("%s is an action on Medusa's session", async (type, session, action) => {
    const done = await provider().getWebhookActionAndData(post(type, session));
    expect(done).toEqual({ action, data: { session_id: "payses_1", amount: "49.00" } });
  });

  it.each([
    ["refund.failed", paid],
    ["webhook_endpoint.test", { endpointId: "we_1" }],
    ["payment_session.of_tomorrow", paid],
    ["payment_session.succeeded", { ...paid, metadata: {} }],
    ["payment_session.succeeded", { ...paid, amountCapturedMinor: 900 }],
  ])("%s is not supported for %j", async (type, session) => {
    expect(await provider().getWebhookActionAndData(post(type, session))).toEqual({ action: "not_supported" });
  });

  it("is refused if it is forged, changed or parsed already", async () => {
    const forged = post(
      "payment_session.succeeded",
      paid,
      `switchyard_test_whsec_${Buffer.alloc(24, 8).toString("base64")}`,
    );
    await expect(provider().getWebhookActionAndData(forged)).rejects.toMatchObject({ reason: "invalid_signature" });
    const genuine = post("payment_session.declined", open);
    const changed = { ...genuine, rawData: `${genuine.rawData}`.replace("declined", "succeeded") };
    await expect(provider().getWebhookActionAndData(changed)).rejects.toMatchObject({ reason: "invalid_signature" });
    await expect(provider().getWebhookActionAndData({ ...genuine, headers: {} })).rejects.toMatchObject({
      reason: "missing_header",
    });
    const parsed = { ...genuine, rawData: genuine.data };
    await expect(provider().getWebhookActionAndData(parsed)).rejects.toThrow(TypeError);
  });

  it("of a payment whose session Medusa has deleted touches no other cart", async () => {
    sessions = {};
    const orphaned = provider().getWebhookActionAndData(post("payment_session.succeeded", paid));
    await expect(orphaned).rejects.toThrow("ps_1 is paid, but Medusa has no payment session payses_1 any more");
    const declined = provider().getWebhookActionAndData(post("payment_session.declined", open));
    expect((await declined).action).toBe("failed");
  });
});

describe("options", () => {
  it("are refused together where they are missing, and a wrong one by its rule", () => {
    const validate = plugin.services[0]!.validateOptions;
    expect(() => validate({ apiOrigin: api.url })).toThrow("are missing: secretKey, webhookSecret.");
    const all = { apiOrigin: api.url, secretKey: "sk", webhookSecret: [] };
    expect(() => validate(all)).toThrow("are missing: webhookSecret.");
    expect(() => validate({ ...all, webhookSecret, capture: "later" as "manual" })).toThrow("automatic or manual");
    expect(validate({ ...all, webhookSecret, capture: "manual" })).toBeUndefined();
  });
});
