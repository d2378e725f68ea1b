/**
 * The widget in Firefox, in WebKit and in Chromium as phones have it, in front of the whole demo: approved, failed
 * over, confirmed at the bank, and reloaded in mid-submission.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { authenticationCards } from "../../gateways/sandbox/authentication-cards.ts";
import { providerCards } from "../../gateways/sandbox/provider-cards.ts";
import { forFile } from "../testing/for-file.ts";
import { startTestDemo } from "./demo.fixture.ts";
import type { EnginePage } from "./engine.ts";
import { confirmAtBank, engines, form, openSheet, payInSheet, polling } from "./engines.ts";
import { PlainShop } from "./plain-shop.ts";

// The card whose bank's page stays blank has nothing to confirm: it has a test of its own.
const askedCards = [
  ...authenticationCards,
  ...providerCards.filter(({ onDirectory }) => onDirectory?.answer !== "blank"),
];
const demo = await forFile(startTestDemo);
const shop = await forFile(() => PlainShop.start(demo.file));

const resultsOf = (session: { sessionId: string }) =>
  shop.resultsOf(session).filter(({ name }) => name === "onSuccess" || name === "onDeclined");

/** Opens a page for its own session, and types a card once the form is ready. */
async function enterCard(page: EnginePage, number: string, fields: object = {}) {
  const { session, url } = await shop.sell(fields);
  await page.open(url);
  await expect.poll(() => shop.resultsOf(session).map(({ name }) => name), polling).toEqual(["onReady"]);
  for (const [field, text] of Object.entries({ number, expiry: "0431", cvc: "123" })) await fill(page, field, text);
  expect(await page.runInFrame('document.querySelector("#expiry").value')).toBe("04 / 31");
  return session;
}

/** Like autofill: no key reaches a frame in a window that is not in front of a person. */
const fill = (page: EnginePage, field: string, text: string) =>
  page.runInFrame(`((input) => {
    input.value = "${text}";
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  })(document.querySelector("#${field}"))`);

const readForm = `${form}.textContent`;
const cancelInWidget = `void [...${form}.querySelectorAll(".action button")]
  .find(({ textContent }) => textContent === "Cancel payment")?.click()`;

const pay = (page: EnginePage) => page.run(`void ${form}.querySelector(".pay").click()`);

async function capturesOf(sessionId: string): Promise<number> {
  const { attempts = [] } = await shop.api.read(sessionId);
  const records = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return records.flat().filter(({ status }) => status === "captured").length;
}

const callbackNamesOf = (at: PlainShop, session: { sessionId: string }) =>
  at.resultsOf(session).map(({ name }) => name);

describe.each(engines)("the widget in %s", (_name, start) => {
  let page: EnginePage;
  beforeAll(async () => {
    page = await start();
  });
  afterAll(() => page?.close());

  it.each([
    ["approved", "4242424242424242", { capturedVia: "SANDBOX_A", failoverUsed: false }],
    ["failed over", "4000000000000002", { capturedVia: "SANDBOX_B", failoverUsed: true }],
  ])("pays a card that is %s", async (_what, number, result) => {
    const session = await enterCard(page, number);
    await pay(page);
    await expect.poll(() => resultsOf(session), polling).toEqual([{ name: "onSuccess", result }]);
    expect(await capturesOf(session.sessionId)).toBe(1);
  });

  it("pays by the brand that the customer of a co-badged card chooses", async () => {
    const session = await enterCard(page, "4000002500001001");
    const options = '[...document.querySelectorAll("#brands:not([hidden]) input")]';
    expect(await page.runInFrame(`${options}.map(({ value, checked }) => value + checked)`)).toEqual([
      "cartes_bancairesfalse",
      "visafalse",
    ]);
    await page.runInFrame(`${options}[0].click()`);
    await pay(page);
    await expect.poll(() => resultsOf(session).map(({ name }) => name), polling).toEqual(["onSuccess"]);
    const { card } = await shop.api.read(session.sessionId);
    expect(card).toEqual({ brand: "cartes_bancaires", last4: "1001" });
  });

  it.each([
    ["Apple Pay", "apple_pay"],
    ["Google Pay", "google_pay"],
  ])("pays by the emulator of %s with a gateway down, after a cancelled sheet and a reload", async (title, type) => {
    await demo.sandbox.setDown("A", true);
    onTestFinished(() => demo.sandbox.setDown("A", false));
    const { session, url } = await shop.sell({}, demo.sandbox.origin);
    await page.open(url);
    await openSheet(page, title);
    await page.run(`void ${payInSheet}.previousElementSibling.click()`);
    await openSheet(page, title);
    await page.reload();
    await openSheet(page, title);
    expect(resultsOf(session)).toEqual([]);
    await page.run(`void ${payInSheet}.click()`);
    const result = { capturedVia: "SANDBOX_B", failoverUsed: true };
    await expect.poll(() => resultsOf(session), polling).toEqual([{ name: "onSuccess", result }]);
    expect(await shop.api.read(session.sessionId)).toMatchObject({ wallet: { type, credential: "NETWORK_TOKEN" } });
    expect(await capturesOf(session.sessionId)).toBe(1);
  });

  it("stores a card by the box, and pays again by its code alone", async () => {
    const signedIn = { customerRef: `customer-${randomUUID()}`, saveCard: {} };
    const first = await enterCard(page, "4242424242424242", signedIn);
    await page.run(`${form}.querySelector("input[type=checkbox]").click()`);
    await pay(page);
    const saved = async () => (await shop.api.read(first.sessionId)).savedCard?.status;
    await expect.poll(saved, polling).toBe("SAVED");
    const { paymentMethodId } = await shop.api.read(first.sessionId);
    const { session, url } = await shop.sell(signedIn);
    await page.open(url);
    await expect.poll(() => callbackNamesOf(shop, session), polling).toEqual(["onReady"]);
    expect(await page.run(`${form}.querySelectorAll("input[type=radio]").length`)).toBe(2);
    await fill(page, "cvc", "123");
    await pay(page);
    await expect.poll(() => resultsOf(session).map(({ name }) => name), polling).toEqual(["onSuccess"]);
    expect(await shop.api.read(session.sessionId)).toMatchObject({ paymentMethodId, initiator: "CUSTOMER" });
    expect(await capturesOf(session.sessionId)).toBe(1);
  });

  it.each(askedCards.map(({ name, number, ...card }) => [name, number, card] as const))(
    "takes the customer to the bank and back: %s",
    { timeout: 3 * polling.timeout },
    async (_name, number, { onDirectory, outcome: { attempts, status, declineCode } }) => {
      const session = await enterCard(page, number);
      await pay(page);
      await expect
        .poll(async () => {
          // The frames come and go meanwhile.
          await page.runInLastFrame(confirmAtBank).catch(() => undefined);
          return resultsOf(session);
        }, polling)
        .toHaveLength(1);
      // In time, so that a card that can be paid is paid at its last gateway.
      const isPaid = status === "SUCCEEDED" || attempts.at(-1)?.status === "VOIDED";
      const { gateway = attempts.length === 1 ? "SANDBOX_A" : "SANDBOX_B" } = attempts.at(-1)!;
      const result = { capturedVia: gateway, failoverUsed: gateway === "SANDBOX_B" };
      const [callback] = resultsOf(session);
      expect(callback).toEqual(
        isPaid ? { name: "onSuccess", result } : { name: "onDeclined", result: { declineCode } },
      );
      expect(await capturesOf(session.sessionId)).toBe(isPaid ? 1 : 0);
      expect(await page.run(readForm)).toContain(onDirectory?.message ?? "");
    },
  );

  it("lets the customer cancel where the bank's page stays blank", { timeout: 2 * polling.timeout }, async () => {
    const session = await enterCard(page, "4000000000007064");
    await pay(page);
    await expect
      .poll(async () => {
        await page.run(cancelInWidget);
        return resultsOf(session);
      }, polling)
      .toEqual([{ name: "onDeclined", result: { declineCode: "authentication_failed" } }]);
    expect(await capturesOf(session.sessionId)).toBe(0);
  });

  it("gets its second part at another address when that of its own is lost", async () => {
    const line = await openLosingLine(demo.file.connectOrigin, "/session-api-");
    const behindLine = await PlainShop.start(demo.file, line.origin);
    try {
      const { session, url } = await behindLine.sell();
      await page.open(url);
      await expect.poll(() => callbackNamesOf(behindLine, session), polling).toEqual(["onReady"]);
      expect(line.lost()).toBeGreaterThan(0);
    } finally {
      await behindLine.close();
      line.close();
    }
  });

  it("follows a payment through a reload, and captures nothing twice", async () => {
    const session = await enterCard(page, "4242424242424242");
    await demo.sandbox.hold("a.authorize");
    await pay(page);
    await demo.sandbox.paused({ operation: "a.authorize" });
    await page.reload();
    await demo.sandbox.release();
    await expect.poll(() => resultsOf(session).map(({ name }) => name), polling).toEqual(["onSuccess"]);
    expect(await capturesOf(session.sessionId)).toBe(1);
  });
});

/** Returns the address of a proxy to `origin` that loses files of this name, except requests with a query. */
async function openLosingLine(
  origin: string,
  name: string,
): Promise<{ readonly origin: string; readonly lost: () => number; close(): void }> {
  let lost = 0;
  const server = createServer((request, response) => {
    const target = request.url ?? "/";
    if (target.includes(name) && !target.includes("?")) {
      lost += 1;
      return void response.writeHead(503).end();
    }
    const { method, headers } = request;
    const onwards = forward(origin + target, { method, headers: { ...headers, host: new URL(origin).host } });
    onwards.on("response", (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)));
    onwards.on("error", () => response.destroy());
    request.pipe(onwards);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    lost: () => lost,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
