import { describe, expect, it } from "vitest";
import { challengeAt } from "../core/scenarios/authentication.fixture.ts";
import { browser } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { embeddersOf } from "./authentication-pages.ts";
import { startEdgeFixture } from "./edge.fixture.ts";

const edge = await forFile(startEdgeFixture);
await edge.core.setRule([]);
await edge.core.sandbox.setCard("A", "4000000000007106", challengeAt.A());
edge.core.useCard("4000000000007106");

type Opened = { readonly sessionId: string; readonly clientSecret: string };

async function open(): Promise<Opened> {
  const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
  return (await edge.call("POST", "/payment-sessions", { body: JSON.stringify(order) })).json as Opened;
}

async function rpc({ sessionId, clientSecret }: Opened, name: string, fields: object = {}) {
  const answer = await fetch(`http://127.0.0.1:${edge.port}/payments.v1.CheckoutService/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${clientSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ sessionId, ...fields }),
  });
  return { status: answer.status, json: await answer.json() };
}

const at = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${edge.port}${path}`, init);
const showing = (ticket: string) =>
  at("/authentication/test/open", { method: "POST", body: JSON.stringify({ ticket }) });
const submit = (opened: Opened) => rpc(opened, "SubmitPayment", { vaultToken: "tok_1", browser });

describe("a payment whose gateway asks for the customer", () => {
  it("returns its action at once, shows it by a ticket, and ends with the bank's return", async () => {
    const opened = await open();
    const { nextAction, processing } = (await submit(opened)).json.checkout;
    expect(processing).toBe(true);
    expect(nextAction).toMatchObject({ kind: "REDIRECT", framing: "FRAME", expiresInSeconds: 600 });
    const { authenticationId } = nextAction;
    expect((await edge.call("GET", `/payment-sessions/${opened.sessionId}`)).json).toMatchObject({
      status: "CREATED",
      processing: true,
      awaitingCustomer: { since: expect.any(String), until: expect.any(String) },
      attempts: [{ status: "AWAITING_CUSTOMER", authenticationId }],
      authentications: [{ authenticationId, by: "GATEWAY", status: "AWAITING_CUSTOMER", sequence: 1 }],
    });
    const { ticket } = (await rpc(opened, "OpenAction", { authenticationId })).json;
    const shown = await showing(ticket);
    const { url } = (await shown.json()) as { url: string };
    expect(await (await fetch(url)).text()).toContain("Confirm your payment");
    expect((await showing(ticket)).status).toBe(410);
    const bank = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ code: "123456" }),
      redirect: "manual",
    });
    const back = new URL(bank.headers.get("location") ?? "");
    expect(back.origin).toBe("https://pay.example");
    const page = await at(`${back.pathname}${back.search}`, { method: "POST" });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    await expect
      .poll(async () => (await rpc(opened, "GetCheckout")).json.checkout)
      .toMatchObject({ status: "SUCCEEDED", outcome: { success: { capturedVia: "SANDBOX_A" } } });
    expect((await rpc(opened, "OpenAction", { authenticationId })).json.code).toBe("failed_precondition");
    const read = (await edge.call("GET", `/payment-sessions/${opened.sessionId}`)).json;
    expect(read).not.toHaveProperty("awaitingCustomer");
    expect(read.authentications).toMatchObject([
      { status: "AUTHENTICATED", liability: "ISSUER", challenge: { endedBy: "BANK", durationMs: expect.any(Number) } },
    ]);
  });

  it("ends when the customer gives up", async () => {
    const opened = await open();
    const { authenticationId } = (await submit(opened)).json.checkout.nextAction;
    expect((await rpc(opened, "CancelAction", { authenticationId })).status).toBe(200);
    await expect
      .poll(async () => (await rpc(opened, "GetCheckout")).json.checkout.outcome)
      .toEqual({ decline: { declineCode: "authentication_failed" } });
    expect((await rpc(opened, "CancelAction", { authenticationId: "atn_1" })).status).toBe(400);
  });

  it("is declined without a page that can show an action", async () => {
    const opened = await open();
    const { checkout } = (await rpc(opened, "SubmitPayment", { vaultToken: "tok_1" })).json;
    expect(checkout).toMatchObject({ outcome: { decline: { declineCode: "authentication_required" } } });
    expect(checkout).not.toHaveProperty("nextAction");
  });
});

describe("a return", () => {
  it("changes nothing with a token that is not ours", async () => {
    const token = "ps_01h2xcejqtf2nbrexx3vqjhp41.att_01h2xcejqtf2nbrexx3vqjhp41.AAAA";
    const page = await at(`/authentication/test/return/${token}?redirectResult=1`);
    expect([page.status, await page.text()]).toEqual([200, "return"]);
    expect((await at("/authentication/live/return/x")).status).toBe(404);
    expect((await at("/authentication/test/open")).status).toBe(405);
  });
});

describe("the pages that show an action", () => {
  const policyOf = (page: Response) => page.headers.get("content-security-policy") ?? "";

  it("names the pages around the frame by our signature only", async () => {
    const opened = await open();
    const { authenticationId } = (await submit(opened)).json.checkout.nextAction;
    const { frameUrl, windowUrl, ticket } = (await rpc(opened, "OpenAction", { authenticationId })).json;
    expect(windowUrl).toBe(`https://pay.example/authentication/test/window#${ticket}`);
    const address = new URL(frameUrl);
    const frame = await at(address.pathname + address.search);
    // In test a merchant without origins allows any page, also a file, which `*` does not name.
    expect([frame.status, await frame.text()]).toEqual([200, "frame *"]);
    expect(policyOf(frame)).not.toContain("frame-ancestors");
    expect(policyOf(frame)).not.toMatch(/default-src|child-src|frame-src/);
    expect(policyOf(frame)).toContain("form-action https: http://localhost:*");
    expect(frame.headers.get("cross-origin-embedder-policy")).toBeNull();
    expect(frame.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    const [content, mac] = address.searchParams.get("p")!.split(".");
    const other = Buffer.from('["https://evil.example"]').toString("base64url");
    for (const policy of [`${other}.${mac}`, `${content}.AAAA`, content, ""]) {
      const forged = await at(`${address.pathname}?p=${policy}`);
      expect([forged.status, await forged.text()]).toEqual([403, "frame"]);
      expect(policyOf(forged)).toContain("frame-ancestors 'none'");
    }
    const halfAnHour = 30 * 60_000;
    const { sealing } = edge.parts.environments.test!.core;
    expect(embeddersOf(sealing, address.searchParams.get("p")!, new Date())).toEqual(["*"]);
    expect(embeddersOf(sealing, address.searchParams.get("p")!, new Date(Date.now() + halfAnHour))).toEqual([]);
    const shownInWindow = await at("/authentication/test/window");
    expect(policyOf(shownInWindow)).toContain("frame-ancestors 'none'");
    expect(shownInWindow.headers.get("cross-origin-opener-policy")).toBe("same-origin");
  });

  it("carries the shop's page in the ticket, which nothing else can change", async () => {
    const opened = await open();
    const { authenticationId } = (await submit(opened)).json.checkout.nextAction;
    const returnTo = "https://shop.example/order?id=1";
    const { ticket } = (await rpc(opened, "OpenAction", { authenticationId, returnTo })).json;
    const evil = Buffer.from("https://evil.example/").toString("base64url");
    expect((await showing(ticket.replace(/~.*/, `~${evil}`))).status).toBe(410);
    expect(await (await showing(ticket)).json()).toMatchObject({ method: "GET", returnTo });
    for (const page of ["javascript:alert(1)", "shop"]) {
      expect((await rpc(opened, "OpenAction", { authenticationId, returnTo: page })).json.code).toBe(
        "invalid_argument",
      );
    }
  });

  it("says that a customer can go back once the session has ended", async () => {
    const opened = await open();
    const { authenticationId } = (await submit(opened)).json.checkout.nextAction;
    const { ticket } = (await rpc(opened, "OpenAction", { authenticationId })).json;
    const { url } = (await (await showing(ticket)).json()) as { url: string };
    const answer = { method: "POST", body: new URLSearchParams({ code: "000000" }), redirect: "manual" } as const;
    const back = new URL((await fetch(url, answer)).headers.get("location") ?? "");
    const isOver = async () => (await (await at(`${back.pathname}/end`)).json()) as unknown;
    expect(await isOver()).toEqual({ isOver: false });
    await at(back.pathname + back.search);
    await expect.poll(isOver).toEqual({ isOver: true });
  });
});
