import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Shop, startShop } from "./shop.ts";

const secretKey = "switchyard_test_sk_shop";
const signingSecret = `switchyard_test_whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const verifier = new Webhook(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);

type Created = {
  readonly key: string;
  readonly authorization: string;
  readonly body: { readonly orderRef: string; readonly amountMinor: number; readonly replaces?: string };
};

let created: Created[];
let kept: string;
let refusedKey: string | undefined;
let session: Record<string, unknown>;
let refusal: object | undefined;
let conflicts: object[];
/** The cards that the vault got, and what becomes of the next submissions. */
let entered: { readonly number: string; readonly cvc: string }[];
let submitted: object[];
let charged: { readonly url: string; readonly key: string }[];
const strangersKey = "switchyard_test_sk_stranger";
let service: Server;
let shop: Shop;

/** Starts the REST API as a merchant sees it: create, repeat by key, and read. */
async function startService(): Promise<Server> {
  const sessionIds = new Map<string, string>();
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (refusal) return answer(503, refusal);
    const isRefused = request.headers.authorization === `Bearer ${refusedKey}`;
    if (isRefused) return answer(401, { code: "invalid_key", detail: "The key was rotated.", requestId: "req_8" });
    if (request.url?.includes("pageSize")) return answer(200, { paymentSessions: [] });
    if (request.headers.authorization === `Bearer ${strangersKey}`)
      return answer(404, { code: "not_found", detail: "There is no payment session with this id." });
    if (request.method === "GET") return answer(200, session);
    if (request.url === "/tokens") {
      entered.push((await json(request)) as (typeof entered)[number]);
      return answer(200, { token: "tok_1" });
    }
    if (request.url?.endsWith("/SubmitPayment")) {
      session = { ...session, ...submitted.shift() };
      return answer(200, { checkout: { outcome: { decline: { declineCode: "card_declined" } } } });
    }
    const key = String(request.headers["idempotency-key"]);
    if (request.url?.includes("/agreements/")) {
      charged.push({ url: request.url, key });
      return answer(201, { ...session, sessionId: key, orderRef: key, amountMinor: 1200, currency: "EUR" });
    }
    const body = (await json(request)) as Created["body"];
    const conflict = conflicts.shift();
    if (conflict) return answer(409, conflict);
    created.push({ key, authorization: String(request.headers.authorization), body });
    if (!sessionIds.has(key)) sessionIds.set(key, `ps_${sessionIds.size + 1}`);
    const sessionId = sessionIds.get(key);
    session = {
      sessionId,
      orderRef: body.orderRef,
      status: "CREATED",
      processing: false,
      failover: false,
      attempts: [],
    };
    const { amountMinor } = body;
    const clientSecret = `${sessionId}_secret_t1_x`;
    answer(201, {
      sessionId,
      clientSecret,
      expiresAt: "",
      amountMinor,
      vault: { mode: "</script>", sdkAuthorization: "grant" },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

beforeEach(async () => {
  created = [];
  kept = secretKey;
  refusedKey = undefined;
  refusal = undefined;
  conflicts = [];
  entered = [];
  submitted = [];
  charged = [];
  service = await startService();
  shop = await startShop(shopOf(`http://127.0.0.1:${(service.address() as AddressInfo).port}`));
});

function shopOf(apiOrigin: string, vaultOrigin = "http://localhost:1"): Parameters<typeof startShop>[0] {
  const declined = { number: "4000000000000002", name: "Decline <b>", group: "Declined", behaviour: "" };
  const testCards = [{ ...declined, outcome: "DECLINED with card_declined." }];
  return {
    restBase: `${apiOrigin}/api/v1`,
    apiOrigin,
    vaultOrigin,
    secretKey: {
      read: () => kept,
      replace: (renewed) => {
        kept = renewed;
      },
    },
    signingSecret,
    port: 0,
    testCards,
    dashboardUrl: "https://dashboard.example.com/test/mer_1",
  };
}

afterEach(async () => {
  await shop.close();
  service.closeAllConnections();
  service.close();
});

async function order(): Promise<string> {
  const response = await fetch(`${shop.origin}/orders`, { method: "POST", redirect: "manual" });
  expect(response.status).toBe(303);
  return response.headers.get("Location")!.replace("/checkout/", "");
}

function sendWebhook(body: object, change: { signature?: string; timestamp?: Date; id?: string } = {}) {
  const { timestamp = new Date(), id = "evt_1" } = change;
  const payload = JSON.stringify(body);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(timestamp.getTime() / 1000)),
    "webhook-signature": change.signature ?? verifier.sign(id, timestamp, payload),
  };
  return fetch(`${shop.origin}/webhooks`, { method: "POST", headers, body: payload });
}

/** Reads the details that an open order page receives, until one holds `expected`. */
async function seenOnOrderPage(orderRef: string, expected: string): Promise<string> {
  const response = await fetch(`${shop.origin}/orders/${orderRef}/events`);
  let seen = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    seen += chunk;
    if (seen.includes(expected)) return seen;
  }
  throw new Error("the order page's events ended");
}

describe("ordering", () => {
  it("creates a session with the secret key and an Idempotency-Key of the order's own", async () => {
    const orderRef = await order();
    expect(created).toEqual([
      {
        key: `${orderRef}-4900`,
        authorization: `Bearer ${secretKey}`,
        body: { orderRef, amountMinor: 4900, currency: "EUR" },
      },
    ]);
  });

  it("keeps the session of an order that may still be paid", async () => {
    const answer = await fetch(`${shop.origin}/orders/${await order()}/sessions`, { method: "POST" });
    expect(await answer.json()).toMatchObject({ sessionId: "ps_1" });
  });

  it("opens a fresh session for another card after a decline", async () => {
    const orderRef = await order();
    session = { ...session, status: "DECLINED" };
    const answer = await fetch(`${shop.origin}/orders/${orderRef}/sessions`, { method: "POST" });
    expect(await answer.json()).toMatchObject({ sessionId: "ps_2" });
    expect(created[1]).toMatchObject({ key: "ps_1-4900", body: { replaces: "ps_1", amountMinor: 4900 } });
  });

  const change = (orderRef: string, quantity: string) =>
    fetch(`${shop.origin}/orders/${orderRef}/quantity`, {
      method: "POST",
      body: new URLSearchParams({ quantity }),
      redirect: "manual",
    });

  it("replaces the session of an order whose cart has changed", async () => {
    const orderRef = await order();
    expect((await change(orderRef, "2")).headers.get("location")).toBe(`/checkout/${orderRef}`);
    expect(created[1]).toMatchObject({ key: "ps_1-9800", body: { replaces: "ps_1", amountMinor: 9800 } });
    expect(await (await fetch(`${shop.origin}/checkout/${orderRef}`)).text()).toContain('"sessionId":"ps_2"');
    for (const quantity of ["0", "10", "1.5", "many"]) expect((await change(orderRef, quantity)).status).toBe(404);
    expect(created).toHaveLength(2);
  });

  it("replaces the successor that it does not know, after an answer was lost", async () => {
    const orderRef = await order();
    const state = { sessionId: "ps_1", status: "EXPIRED", processing: false, replacedBy: "ps_lost" };
    conflicts = [{ code: "session_replaced", detail: "It was replaced.", state }];
    expect((await change(orderRef, "2")).status).toBe(303);
    expect(created.at(-1)).toMatchObject({ key: "ps_lost-9800", body: { replaces: "ps_lost", amountMinor: 9800 } });
  });

  it.each(["session_being_paid", "session_ended"])(
    "keeps the price of an order after %s, and shows it",
    async (code) => {
      const orderRef = await order();
      conflicts = [{ code, detail: "It is being paid.", requestId: "req_9" }];
      expect((await change(orderRef, "2")).headers.get("location")).toBe(`/orders/${orderRef}`);
      const answer = await fetch(`${shop.origin}/orders/${orderRef}/sessions`, { method: "POST" });
      expect(await answer.json()).toMatchObject({ sessionId: "ps_1", amountMinor: 4900 });
    },
  );

  it("shows the service's refusal with its request id", async () => {
    refusal = { code: "unavailable", detail: "Try again.", requestId: "req_7" };
    const response = await fetch(`${shop.origin}/orders`, { method: "POST", redirect: "manual" });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("req_7");
  });
});

describe("a customer who is signed in", () => {
  const cookie = "customer=ada";
  const buy = (body = "") =>
    fetch(`${shop.origin}/orders`, { method: "POST", body, redirect: "manual", headers: { cookie } });

  it("gets sessions under the shop's reference, in which the card can be stored", async () => {
    const signedIn = await fetch(`${shop.origin}/account`, {
      method: "POST",
      body: new URLSearchParams({ customer: "ada" }),
      redirect: "manual",
    });
    expect(signedIn.headers.get("set-cookie")).toMatch(/^customer=ada;.*HttpOnly; SameSite=Lax$/);
    await buy();
    expect(created[0]?.body).toMatchObject({ amountMinor: 4900, customerRef: "customer-ada", saveCard: {} });
  });

  it("subscribes with an agreement; nobody else does", async () => {
    await buy("product=subscription");
    expect(created[0]?.body).toMatchObject({
      amountMinor: 1200,
      customerRef: "customer-ada",
      saveCard: { agreement: { type: "UNSCHEDULED", maxAmountMinor: 1200 } },
    });
    await fetch(`${shop.origin}/orders`, { method: "POST", body: "product=subscription", redirect: "manual" });
    expect(created[1]?.body).toEqual({ orderRef: expect.any(String), amountMinor: 4900, currency: "EUR" });
  });

  it.each(["customer=eve", "customer=", "x-customer=ada", "customer=constructor"])(
    "is not made by %s",
    async (other) => {
      await fetch(`${shop.origin}/orders`, { method: "POST", redirect: "manual", headers: { cookie: other } });
      expect(created[0]?.body).not.toHaveProperty("customerRef");
    },
  );

  it("is charged once for a bag, however often the button is pressed", async () => {
    const orderRef = (await buy("product=subscription")).headers.get("location")!.replace("/checkout/", "");
    session = { ...session, status: "SUCCEEDED", agreementId: "agr_1" };
    await seenOnOrderPage(orderRef, "Charge the next bag");
    const charge = (headers: Record<string, string> = { cookie, "sec-fetch-site": "same-origin" }) =>
      fetch(`${shop.origin}/orders/${orderRef}/renewals`, { method: "POST", redirect: "manual", headers });
    for (const others of [{ "sec-fetch-site": "same-origin" }, { cookie, "sec-fetch-site": "cross-site" }])
      expect((await charge(others)).status).toBe(404);
    expect((await fetch(`${shop.origin}/checkout/${orderRef}`)).status).toBe(404);
    const answers = await Promise.all([charge(), charge()]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(charged.map(({ url, key }) => [url, key])).toEqual(
      Array(2).fill(["/api/v1/agreements/agr_1/payment-sessions", `${orderRef}-1`]),
    );
    expect(await (await fetch(`${shop.origin}/orders/${orderRef}`)).text()).toContain(`${orderRef}-1`);
  });
});

describe("a rotated secret key", () => {
  const enter = (entered: string, site = "same-origin") =>
    fetch(`${shop.origin}/secret-key`, {
      method: "POST",
      headers: { "sec-fetch-site": site },
      body: new URLSearchParams({ secretKey: entered }),
      redirect: "manual",
    });

  it("is asked for on the page that it breaks, and replaced by one that the service accepts", async () => {
    refusedKey = secretKey;
    const refused = await fetch(`${shop.origin}/orders`, { method: "POST", redirect: "manual" });
    expect(refused.status).toBe(502);
    const form = await refused.text();
    expect(form).toContain('action="/secret-key"');
    expect(form).toContain('href="https://dashboard.example.com/test/mer_1/keys"');
    const again = await enter(secretKey);
    expect(again.status).toBe(422);
    expect(await again.text()).toContain("This key is refused, too.");
    expect(kept).toBe(secretKey);
    expect((await enter(" switchyard_test_sk_renewed ")).status).toBe(303);
    await order();
    expect(created[0]?.authorization).toBe("Bearer switchyard_test_sk_renewed");
  });

  it("is not replaced by a live key, a publishable one or another merchant's", async () => {
    await order();
    const noTestKey = "This is not a secret key of the test environment";
    for (const [other, problem] of [
      ["switchyard_live_sk_renewed", noTestKey],
      ["switchyard_test_pk_renewed", noTestKey],
      [strangersKey, "This is the key of another merchant."],
    ] as const) {
      const answer = await enter(other);
      expect(answer.status).toBe(422);
      expect(await answer.text()).toContain(problem);
      expect(kept).toBe(secretKey);
    }
    expect((await enter("switchyard_test_sk_renewed")).status).toBe(303);
  });

  it("is not replaced by another merchant's after a webhook of the shop's own", async () => {
    await sendWebhook({ type: "payment_session.succeeded", data: { orderRef: "o-1", sessionId: "ps_1" } });
    expect((await enter(strangersKey)).status).toBe(422);
    expect(kept).toBe(secretKey);
  });

  it("is not replaced by another site's page", async () => {
    expect((await enter("switchyard_test_sk_theirs", "cross-site")).status).toBe(404);
    expect(kept).toBe(secretKey);
  });
});

describe("the checkout page", () => {
  it("embeds the session safely, with any markup in it, and never the secret key", async () => {
    const text = await (await fetch(`${shop.origin}/checkout/${await order()}`)).text();
    const data = /<script type="application\/json" id="checkout">(.*?)<\/script>/.exec(text)?.[1] ?? "";
    expect(JSON.parse(data).widget).toMatchObject({
      sessionId: "ps_1",
      vault: { mode: "</script>", sdkAuthorization: "grant" },
    });
    expect(text).toContain("Decline &#60;b&#62;");
    expect(text).not.toContain(secretKey);
  });

  it("names three hosts in its policy, without wildcards and exceptions", async () => {
    const { headers } = await fetch(`${shop.origin}/checkout/${await order()}`);
    const policy = headers.get("Content-Security-Policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-src http://localhost:1;");
    expect(policy).not.toMatch(/\*|unsafe|nonce|data:/);
    expect(headers.get("Cache-Control")).toBe("no-store");
  });

  it("is not found for an order that does not exist", async () => {
    expect((await fetch(`${shop.origin}/checkout/RH-none`)).status).toBe(404);
  });
});

describe("the webhook route", () => {
  it("shows a signed webhook once on the open order page, even if it comes repeatedly", async () => {
    const orderRef = await order();
    const seen = seenOnOrderPage(orderRef, "payment_session.<wbr>succeeded");
    const body = { type: "payment_session.succeeded", data: { orderRef } };
    expect((await sendWebhook(body)).status).toBe(204);
    expect((await sendWebhook(body)).status).toBe(204);
    await seen;
    const page = await (await fetch(`${shop.origin}/orders/${orderRef}`)).text();
    expect(page.split("payment_session.<wbr>succeeded")).toHaveLength(2);
  });

  it("shows that a capture failed after the payment had succeeded", async () => {
    const orderRef = await order();
    expect((await sendWebhook({ type: "payment_attempt.capture_failed", data: { orderRef } })).status).toBe(204);
    await seenOnOrderPage(orderRef, "the money will not arrive");
  });

  it("refuses a wrong signature, an old timestamp and missing headers", async () => {
    const orderRef = await order();
    const body = { type: "payment_session.succeeded", data: { orderRef } };
    const anHourAgo = new Date(Date.now() - 3_600_000);
    expect((await sendWebhook(body, { signature: `v1,${Buffer.alloc(32).toString("base64")}` })).status).toBe(400);
    expect((await sendWebhook(body, { timestamp: anHourAgo })).status).toBe(400);
    expect((await fetch(`${shop.origin}/webhooks`, { method: "POST", body: "{}" })).status).toBe(400);
    const page = await (await fetch(`${shop.origin}/orders/${orderRef}`)).text();
    expect(page).not.toContain("Signature verified");
  });

  it("accepts the dashboard's test event, which belongs to no order", async () => {
    expect((await sendWebhook({ type: "webhook_endpoint.test" })).status).toBe(204);
  });
});

describe("the order page", () => {
  it("follows the attempts, with every value escaped", async () => {
    const orderRef = await order();
    session = {
      ...session,
      status: "SUCCEEDED",
      failover: true,
      capturedVia: "SANDBOX_B",
      attempts: [
        {
          attemptId: "att_1",
          sequence: 1,
          gateway: "SANDBOX_A",
          status: "DECLINED",
          because: "priority <1>",
          failureKind: "HARD_DECLINE",
          gatewayCode: "transaction_not_allowed",
          next: { action: "failover", because: "rule 3 moves on" },
        },
        { attemptId: "att_2", sequence: 2, gateway: "SANDBOX_B", status: "CAPTURED", because: "priority 2" },
      ],
    };
    const seen = await seenOnOrderPage(orderRef, "after failover");
    expect(seen).toContain("priority &#60;1&#62;");
    expect(seen).toMatch(/HARD_DECLINE.*transaction_not_allowed/);
    expect(seen).toContain("Failover: rule 3 moves on");
    expect(seen).toContain("https://dashboard.example.com/test/mer_1/payments/ps_1");
  });
});

describe("the page of card testers", () => {
  const tryCard = (of: Shop, fields: Record<string, string>) =>
    fetch(`${of.origin}/card-testers`, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
  const seenOn = async (of: Shop, expected: string): Promise<string> => {
    const response = await fetch(`${of.origin}/card-testers/events`);
    let seen = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      seen = (seen + chunk).split("data: ").at(-1)!;
      if (seen.endsWith("\n\n") && seen.includes(expected)) return seen;
    }
    throw new Error("the page's events ended");
  };

  it("tries a code with a session each, and says which reached a gateway and what stopped the others", async () => {
    const { origin } = new URL(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);
    const tested = await startShop(shopOf(origin, origin));
    const declined = { status: "DECLINED", declineCode: "incorrect_cvc", attempts: [{ gateway: "SANDBOX_A" }] };
    const because = "The card was declined too often <b>";
    const stopped = {
      status: "DECLINED",
      declineCode: "too_many_attempts",
      attempts: [],
      routing: { skipped: [{ because }] },
    };
    submitted = [declined, declined, declined, stopped, stopped];
    expect((await tryCard(tested, { card: "4000000000008401", tries: "5" })).status).toBe(303);
    const seen = await seenOn(tested, "3 of 5</strong> tries reached a gateway. </p>");
    expect(entered.map(({ cvc }) => cvc)).toEqual(["100", "101", "102", "103", "104"]);
    expect(new Set(created.map(({ body }) => body.orderRef)).size).toBe(5);
    expect(seen.split("too often &#60;b&#62;")).toHaveLength(2);
    expect(seen).toContain("https://dashboard.example.com/test/mer_1/payments/ps_");
    const page = await (await fetch(`${tested.origin}/card-testers`)).text();
    expect(page).toContain("<code>too_many_attempts</code>");
    expect(page).not.toContain(secretKey);
    await tested.close();
  });

  it("says why a run has ended, and makes no other tries than it offers", async () => {
    for (const fields of [
      { card: "4242424242424242", tries: "5" },
      { card: "4000000000008401", tries: "1000" },
    ])
      expect((await tryCard(shop, fields)).status).toBe(404);
    // The vault does not answer.
    expect((await tryCard(shop, { card: "4000000000008419", tries: "33" })).status).toBe(303);
    expect(await seenOn(shop, "The run has ended")).toContain("Nothing was tried yet.");
  });
});
