/**
 * A canary card and a device's number with its cryptogram go through the whole demo; then everything that was left behind is
 * searched for them, the CVC, the holder and the session's secrets. In the same demo each test card then has its outcome, with every part of the product
 * real; cards.long.test.ts has the slow ones.
 */
import { randomUUID } from "node:crypto";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { decodeId } from "../../platform/ids.ts";
import { traceIdOf } from "../../platform/telemetry.ts";
import { launchBrowser } from "../testing/browser.ts";
import { type CollectedSpan, TraceCollector } from "../testing/trace-collector.ts";
import { ApiCheckout, describedBrowser, type OpenedSession } from "./api-checkout.ts";
import {
  dumpDatabases,
  type Leftover,
  readDatabaseFiles,
  readLogs,
  readNatsFiles,
  readOpenAddresses,
  readProcesses,
  readWriteAheadLog,
} from "./canary-places.ts";
import {
  findTraces,
  type Trace,
  tracesOfBytes,
  tracesOfCvc,
  tracesOfNumber,
  tracesOfParts,
  tracesOfText,
  withoutLongZeros,
} from "./canary-search.ts";
import { cardTimeoutMs, closedAfterS, quickS, runCard } from "./card-run.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";
import { orderAtShop } from "./shop-order.ts";
import { tokenizeWallet } from "./wallet-checkout.ts";
import { auditWebhooks } from "./webhook-audit.ts";

/** Its digits repeat so little that eight of them in a row are found by no chance. */
const amex = "378282246310005";
const wrongAmex = "378282246310006";
const cvc = "7391";
const holder = "Zwi Quokkafeld";
const postalCode = "QK7-XZ94";
const failoverCard = "4000000000000002";
/** Declines, failover after a decline, a timeout and an error, and fraud, beside the approval. */
const otherCards = ["4000000000009995", failoverCard, "4000000000004087", "4000000000005001", "4100000000000019"];

/** A device's number, of which SANDBOX_A approves each payment, and a cryptogram for each wallet. */
const deviceNumber = "4000000000008302";
const cryptograms = { apple_pay: "+/vQuokkaApple/0zeld8302abE=", google_pay: "+/vQuokkaGoogle0zeld8302abE=" };

/** A merchant's trace of its own calls; the flag asks for ours to be recorded. */
const outsidersTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const outsiders = `00-${outsidersTrace}-00f067aa0ba902b7-01`;

let demo: TestDemo;
let collector: TraceCollector;
let failedOver: OpenedSession;
let browser: Browser;
let sessions: OpenedSession[];
/** Begins the references that a merchant gave its orders: it may be everywhere, and shows that the search works. */
let orderRef: string;
/** Everything that the browser saw: addresses, referrers, console, storage, bodies that hold the card. */
let seenByBrowser: string;
let cardSentTo: string[];

beforeAll(async () => {
  collector = await TraceCollector.start();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin };
  [demo, browser] = await Promise.all([startTestDemo(settings), launchBrowser()]);
  orderRef = `canary-${randomUUID()}`;
  const merchant = new ApiCheckout(demo.file);
  sessions = [];
  const payByApi = async (number: string) => {
    const fields = { orderRef: `${orderRef}-${randomUUID()}` };
    const session = await merchant.open(fields, number === failoverCard ? { traceparent: outsiders } : {});
    sessions.push(session);
    if (number === failoverCard) failedOver = session;
    await merchant.submit(session, await merchant.tokenize(session, number, undefined, { postalCode }));
  };
  const payByWallet = async (wallet: WalletName) => {
    const session = await merchant.open({ orderRef: `${orderRef}-${randomUUID()}` });
    sessions.push(session);
    const choice = { wallet, number: deviceNumber, cryptogram: cryptograms[wallet] };
    const ended = await merchant.submit(session, await tokenizeWallet(demo, merchant, session, choice));
    expect(ended.outcome).toHaveProperty("success");
  };
  const byWallets = (["apple_pay", "google_pay"] as const).map(payByWallet);
  await Promise.all([payInBrowser(), sendMistakes(), ...otherCards.map(payByApi), ...byWallets, renew(merchant)]);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await demo?.close();
  await collector?.close();
});

/** Pays in the demo shop, first with a wrong number, then with the right card. */
async function payInBrowser(): Promise<void> {
  const customer = await ShopCustomer.enter(browser, demo.file.shopUrl, 30_000);
  const { page } = customer;
  const seen: string[] = [];
  cardSentTo = [];
  page.on("console", (message) => seen.push(`console ${message.text()}`));
  page.on("pageerror", (error) => seen.push(`console ${error.stack}`));
  page.on("request", (request) => {
    const { referer, origin, cookie } = request.headers();
    seen.push(`request ${request.url()} ${referer} ${origin} ${cookie}`);
    const parts = `${request.postData()} ${JSON.stringify(request.headers())}`;
    if (findTraces(parts, [...tracesOfNumber(amex), ...tracesOfNumber(wrongAmex)]).length > 0)
      cardSentTo.push(request.url());
  });
  const { sessionId } = await customer.goToCheckout();
  const { widget } = JSON.parse((await page.locator("#checkout").textContent()) ?? "");
  sessions.push({ ...widget, sessionId });
  await customer.enterCard(wrongAmex);
  await customer.cardForm.getByLabel("Security code").fill(cvc);
  await customer.pay();
  await customer.cardForm.locator("#number[aria-invalid=true]").waitFor();
  await customer.enterCard(amex);
  await customer.cardForm.getByLabel("Security code").fill(cvc);
  await customer.cardForm.locator("#holder").fill(holder);
  const stored = () =>
    page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])",
    );
  seen.push(`storage ${await stored()}`);
  await customer.pay();
  await customer.page.locator("#details").getByText("Captured via SANDBOX_A").waitFor();
  seen.push(`storage ${await stored()}`, `page ${await page.content()}`, `notes ${JSON.stringify(customer.notes)}`);
  seenByBrowser = seen.join("\n");
  await customer.leave();
}

/** Has a customer begin an agreement with the canary card, which is stored, and charges it once. */
async function renew(merchant: ApiCheckout): Promise<void> {
  const agreement = { type: "UNSCHEDULED", text: "Charged each month." };
  const ordered = () => ({ orderRef: `${orderRef}-${randomUUID()}` });
  const session = await merchant.open({ ...ordered(), customerRef: randomUUID(), saveCard: { agreement } });
  sessions.push(session);
  const token = await merchant.tokenize(session, amex, cvc, { holder, postalCode });
  await merchant.submit(session, token, describedBrowser, { template: "agreement", locale: "en" });
  const readAgreement = async () => (await merchant.read(session.sessionId)).agreementId;
  const agreementId = await vi.waitUntil(readAgreement, { timeout: 20_000 });
  const charged = await merchant.charge(agreementId, { ...ordered(), amountMinor: 900, currency: "EUR" });
  expect(charged.status).toBe("SUCCEEDED");
}

/** Sends requests of a broken client: each is refused, and none of it may reach a log. */
async function sendMistakes(): Promise<void> {
  const { session } = await orderAtShop(demo.file.shopUrl);
  sessions.push(session);
  const { sdkAuthorization } = session.vault;
  const card = { number: amex, expMonth: 4, expYear: 2031, cvc, holder };
  const bodies = [
    JSON.stringify(card).slice(0, -1),
    JSON.stringify({ ...card, [amex]: "1" }),
    JSON.stringify({ ...card, number: Number(amex), cvc: `${cvc}0` }),
    JSON.stringify({ ...card, number: wrongAmex, holder: `${holder} ${amex}` }),
    JSON.stringify({ ...card, holder: holder.repeat(1_000) }),
    JSON.stringify({ ...card, postalCode: `${postalCode}, ${amex}` }),
  ];
  for (const body of bodies) {
    for (const authorization of [`Bearer ${sdkAuthorization}`, `Bearer ${sdkAuthorization}x`]) {
      const headers = { "content-type": "application/json", authorization };
      const response = await fetch(`${demo.file.vaultOrigin}/tokens`, { method: "POST", headers, body });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(findTraces(await response.text(), cardTraces())).toEqual([]);
    }
  }
  // The card where it does not belong: an rpc of the service, which refuses it without repeating it.
  const submit = await fetch(`${demo.file.connectOrigin}/payments.v1.CheckoutService/SubmitPayment`, {
    method: "POST",
    headers: { authorization: `Bearer ${session.clientSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ sessionId: session.sessionId, vaultToken: amex, card }),
  });
  expect(submit.status).toBe(400);
  expect(findTraces(await submit.text(), cardTraces())).toEqual([]);
}

function cardTraces(): Trace[] {
  const numbers = [amex, wrongAmex, deviceNumber, ...otherCards].flatMap(tracesOfNumber);
  const ofWallets = Object.values(cryptograms).flatMap((cryptogram) => [
    ...tracesOfText("a cryptogram", cryptogram),
    ...tracesOfText("a cryptogram's bytes", Buffer.from(cryptogram, "base64").toString("latin1")),
  ]);
  const distinct = [...tracesOfBytes(amex), ...tracesOfParts(amex)];
  return [
    ...numbers,
    ...ofWallets,
    ...distinct,
    ...tracesOfCvc(cvc),
    ...tracesOfText("the holder", holder),
    ...tracesOfText("the postal code", postalCode),
  ];
}

function secretTraces(): Trace[] {
  return sessions.flatMap(({ clientSecret, vault }) => [
    ...tracesOfText("a client secret", clientSecret),
    ...tracesOfText("an sdkAuthorization", vault.sdkAuthorization),
  ]);
}

function expectNothingIn(leftovers: readonly Leftover[]): void {
  const traces = [...cardTraces(), ...secretTraces()];
  // The catalogs of a server's databases are mostly copies of one.
  const distinct = new Map(leftovers.map(({ where, text }) => [withoutLongZeros(text), where]));
  const found = [...distinct].flatMap(([text, where]) => findTraces(text, traces).map((form) => `${form} in ${where}`));
  expect(found).toEqual([]);
}

const isIn = (leftovers: readonly Leftover[], text: string) =>
  leftovers.some((leftover) => leftover.text.includes(text));

describe("after payments by a canary card, there is nothing of it or of its session's secrets in", () => {
  it("the logs of any role", () => {
    const logs = readLogs(demo);
    expect(logs.map(({ where }) => where.replace(/.*\//, ""))).toEqual(
      expect.arrayContaining(["edge.log", "vault.log", "worker.log", "sandbox.log"]),
    );
    expectNothingIn(logs);
  });

  it("any row of any database", async () => {
    const rows = await dumpDatabases(demo);
    expect(isIn(rows, orderRef)).toBe(true);
    expectNothingIn(rows);
  });

  it("the vault's table of cards, which has forgotten every session that ended", async () => {
    const cards = async () =>
      (await dumpDatabases(demo, ["switchyard_vault"])).find(({ where }) => /"card"$/.test(where));
    await expect.poll(async () => (await cards())?.text).toBe("");
  });

  it("the write-ahead log", () => {
    const log = readWriteAheadLog(demo);
    expect(isIn(log, orderRef)).toBe(true);
    expectNothingIn(log);
  });

  it("any other file of PostgreSQL, deleted rows and its own log included", () => {
    const files = readDatabaseFiles(demo);
    expect(files.length).toBeGreaterThan(1_000);
    expectNothingIn(files);
  });

  it("the files of NATS", async () => {
    // A worker writes a delivery a moment after the session has ended.
    await expect.poll(() => isIn(readNatsFiles(demo), orderRef)).toBe(true);
    expectNothingIn(readNatsFiles(demo));
  });

  it("metrics and open addresses", async () => {
    const answers = await readOpenAddresses(demo);
    expect(isIn(answers, "switchyard_webhook")).toBe(true);
    // The payments were counted, by edge and vault.
    expect(isIn(answers, 'switchyard_requests_total{surface="public",route="SubmitPayment",end="2xx"}')).toBe(true);
    expect(isIn(answers, 'switchyard_cards_tokenized_total{environment="test"} 0')).toBe(false);
    expectNothingIn(answers);
  });

  it("the command lines and environments of processes", () => {
    const processes = readProcesses(demo);
    expect(isIn(processes, "--role")).toBe(true);
    expectNothingIn(processes);
  });

  it("what the merchant reads", async () => {
    const read = await Promise.all(sessions.map(({ sessionId }) => new ApiCheckout(demo.file).read(sessionId)));
    expect(read.filter(({ card }) => card?.last4 === "0005")).toHaveLength(2);
    expectNothingIn([{ where: "GET /payment-sessions", text: JSON.stringify(read) }]);
  });

  it("addresses, referrers, storage, console and page of the browser, which sends the card to the vault alone", () => {
    expect(seenByBrowser).toContain(`request ${demo.file.vaultOrigin}/tokens`);
    expectNothingIn([{ where: "the browser", text: seenByBrowser }]);
    expect(cardSentTo).toEqual([`${demo.file.vaultOrigin}/tokens`]);
  });
});

/** The spans of a payment's trace, each as the path to it with its process, gateway and outcome. */
function pathsOf(session: OpenedSession): string[] {
  const traceId = traceIdOf(decodeId("ps", session.sessionId)!);
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = ({ name, parentId }: CollectedSpan): string => {
    if (parentId === "") return name;
    const parent = byId.get(parentId);
    return `${parent ? pathOf(parent) : "?"} › ${name}`;
  };
  return spans.map((span) => {
    const { "payment.gateway": gateway, "payment.outcome": outcome } = span.attributes;
    return [`${span.role}:`, pathOf(span), gateway, outcome].filter((part) => part !== undefined).join(" ");
  });
}

describe("the trace of a payment that failed over", () => {
  it("is one, over edge, vault and worker, from the session to its webhook", async () => {
    const flow = "session.create › payment.submit › payment.process";
    const event = `${flow} › event.record`;
    const authorized = (gateway: string, outcome: string) => [
      `edge: ${flow} › gateway.authorize ${gateway} ${outcome}`,
      `edge: ${flow} › gateway.authorize › vault.call ${gateway}`,
      `vault: ${flow} › gateway.authorize › vault.call › vault.forward ${gateway}`,
      `vault: ${flow} › gateway.authorize › vault.call › vault.forward › vault.send ${gateway} answer`,
    ];
    const expected = [
      "edge: session.create",
      "edge: session.create › payment.submit",
      `edge: ${flow}`,
      ...authorized("SANDBOX_A", "declined"),
      ...authorized("SANDBOX_B", "held"),
      `edge: ${flow} › gateway.capture SANDBOX_B accepted`,
      `edge: ${event}`,
      `edge: ${event} › event.publish`,
      `worker: ${event} › webhook.deliver 2xx`,
    ];
    await expect.poll(() => pathsOf(failedOver).sort()).toEqual(expected.sort());
  });

  it("is linked to the trace of the merchant's request, and no part of it", () => {
    const linked = collector.spans.filter(({ links }) => links.includes(outsidersTrace));
    expect(linked.map(({ name, attributes }) => [name, attributes["payment.session_id"]])).toEqual([
      ["session.create", failedOver.sessionId],
    ]);
    expect(collector.spans.filter(({ traceId }) => traceId === outsidersTrace)).toEqual([]);
  });

  it("holds nothing of the card, of secrets, or of what the merchant wrote", () => {
    expect(collector.text).toContain(failedOver.sessionId);
    expect(collector.text).not.toContain(orderRef);
    expectNothingIn([{ where: "traces", text: collector.text }]);
  });
});

// The slowest first, so that the others run while they wait for a gateway.
const quickCards = testCards
  .filter((card) => closedAfterS(card) <= quickS)
  .map((card) => ({ ...card, timeout: cardTimeoutMs(card) }))
  .toSorted((left, right) => right.timeout - left.timeout);

describe("the sandbox cards", () => {
  let audit: Awaited<ReturnType<typeof auditWebhooks>>;
  beforeAll(async () => {
    audit = await auditWebhooks(demo);
  });
  afterAll(() => audit.finish());

  for (const card of quickCards) {
    it.concurrent(`${card.name}: ${card.behaviour}`, { timeout: card.timeout }, ({ expect }) =>
      runCard(demo, card, expect),
    );
  }
});
