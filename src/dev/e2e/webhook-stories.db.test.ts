/** Whole payments and their webhooks: bytes, sequence, signatures; and the guide's generated parts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { PaymentSession } from "../../core/rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "../../core/scenarios/core.fixture.ts";
import { Egress } from "../../events/egress.ts";
import { type EndpointContext, registerEndpoint, verifyEndpoint } from "../../events/endpoints.ts";
import { eventTypes } from "../../events/outbox.ts";
import { encodeId } from "../../platform/ids.ts";
import { requireDocumentedWebhook } from "../testing/edge/documented-answers.ts";
import { deliverOnce } from "../testing/events/deliver-once.ts";
import { loopback } from "../testing/events/events-harness.ts";
import { fanOut } from "../testing/events/fan-out.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { checkWebhooks, type WebhookChecker } from "../testing/webhook-checker.ts";
import { withParts } from "./guide-text.ts";
import { guideParts, webhookPages } from "./webhook-guide.ts";
import { playStory, stories } from "./webhook-stories.ts";

// A report that the acquirer sends by itself.
const waiting = { timeout: 10_000, interval: 50 };

let fixture: CoreFixture;
let receiver: Receiver;
let egress: Egress;
let checker: WebhookChecker;
const played: { name: string; session: PaymentSession }[] = [];

beforeAll(async () => {
  [fixture, receiver] = await Promise.all([startCoreFixture(), Receiver.start()]);
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
  egress = new Egress(loopback);
  const { database, runtime, log, sealing } = fixture.core;
  const context: EndpointContext = {
    database,
    runtime,
    log,
    sealing,
    egress,
    environmentName: "test",
    signingSecretPrefix: "switchyard_test_whsec_",
  };
  const { merchantId } = fixture.owner;
  const { endpoint, signingSecret } = await registerEndpoint(context, { merchantId, url: `${receiver.url}/webhooks` });
  checker = checkWebhooks(async () => [[signingSecret.expose()]]);
  await verifyEndpoint(context, { merchantId, endpointId: endpoint.id });
  for (const story of stories) {
    const session = await playStory(fixture, story);
    const types = async () => (await fixture.eventTypes(session)).slice(0, story.events.length);
    await vi.waitFor(async () => expect(await types()).toEqual(story.events), waiting);
    played.push({ name: story.name, session });
  }
  await deliverTwice(context);
}, 60_000);
afterAll(async () => {
  await Promise.all([fixture?.close(), receiver?.close(), egress?.close()]);
});

/** Refuses each webhook at its first attempt and accepts it at the second. */
async function deliverTwice(context: EndpointContext): Promise<void> {
  const seen = new Set<unknown>();
  receiver.answerWith(({ headers }) => {
    const isFirst = !seen.has(headers["webhook-id"]);
    seen.add(headers["webhook-id"]);
    return { status: isFirst ? 500 : 204 };
  });
  for (const { session } of played) await fanOut(context.database, [{ sessionId: session.id, sequence: 99 }]);
  // Each minute is past the pause after a first attempt, and past the breaker that the failures open.
  for (let minutes = 1; minutes <= 120 && (await countWaiting()) > 0; minutes++) {
    while ((await deliverOnce(context)).length > 0);
    await fixture.setClockAhead(minutes);
  }
}

async function countWaiting(): Promise<number> {
  const sql = "SELECT FROM delivery WHERE status = 'PENDING'";
  return (await fixture.asOwner.pool.query(sql)).rowCount ?? 0;
}

const bodyOf = ({ body }: ReceivedRequest) => JSON.parse(body.toString());
const webhooks = () => receiver.requests.filter((request) => bodyOf(request).type !== "webhook_endpoint.test");
const publicIdOf = ({ id }: PaymentSession) => encodeId("ps", id);
const idOf = ({ headers }: ReceivedRequest) => String(headers["webhook-id"]);

describe("the webhooks of whole payments", () => {
  it("are of every type", () => {
    const types = webhooks().map((request) => bodyOf(request).type);
    expect([...new Set(types)].toSorted()).toEqual([...eventTypes].toSorted());
  });

  it("have the same bytes and the same id on every attempt", () => {
    const attempts = Map.groupBy(webhooks(), idOf);
    expect(attempts.size).toBeGreaterThanOrEqual(stories.flatMap(({ events }) => events).length);
    for (const [id, [first, second, ...more]] of attempts) {
      expect(more).toEqual([]);
      expect(second!.body.equals(first!.body)).toBe(true);
      expect(bodyOf(first!).id).toBe(id);
    }
  });

  it("have sequences from 1 without gaps in each session, and arrive in that order at first", async () => {
    const firstAttempts = [...Map.groupBy(webhooks(), idOf).values()].map(([first]) => bodyOf(first!).data);
    for (const { name, session } of played) {
      const all = (await fixture.eventTypes(session)).map((_, index) => index + 1);
      const ofSession = firstAttempts.filter(({ sessionId }) => sessionId === publicIdOf(session));
      const sequences = ofSession.map(({ sequence }) => sequence);
      expect({ name, sequences }).toEqual({ name, sequences: all });
    }
  });

  it("name the attempt, if they are about one", () => {
    const bodies = webhooks().map(bodyOf);
    const statuses = bodies.flatMap(({ type, data }) => {
      const about = data.attempts.find(({ attemptId }: { attemptId: string }) => attemptId === data.attemptId);
      return "attemptId" in data || type.startsWith("payment_attempt.") ? [`${type} ${about?.status}`] : [];
    });
    expect(new Set(statuses)).toEqual(
      new Set(["payment_attempt.voided VOIDED", "payment_attempt.capture_failed CAPTURED"]),
    );
  });

  it("are accepted by both stock verifiers, every one of them, and no tampered one is", async () => {
    expect(checker.seen()).toBe(receiver.requests.length);
    await checker.finish();
  });

  it("are as docs/openapi.json describes each type, the endpoint's test too", () => {
    for (const { body } of receiver.requests) requireDocumentedWebhook(body.toString());
    const changed = { ...bodyOf(webhooks()[0]!), surprise: 1 };
    expect(() => requireDocumentedWebhook(JSON.stringify(changed))).toThrow("surprise");
  });

  it("never contain the customer's email", () => {
    expect(webhooks().filter(({ body }) => body.includes("ada@example.com") || body.includes("mail"))).toEqual([]);
  });
});

describe("the pages about webhooks", () => {
  it("shows what is sent and when it is retried; `npx vitest run webhook-stories -u` renews it", async () => {
    const bodies = new Map<string, Buffer>();
    for (const { session } of played) {
      const ofSession = webhooks().filter((request) => bodyOf(request).data.sessionId === publicIdOf(session));
      for (const request of ofSession) {
        const { type } = bodyOf(request);
        if (!bodies.has(type)) bodies.set(type, request.body);
      }
    }
    const test = receiver.requests.find((request) => bodyOf(request).type === "webhook_endpoint.test")!;
    bodies.set("webhook_endpoint.test", test.body);
    const parts = guideParts({ bodies, request: webhooks()[0]! });
    const shown: string[] = [];
    for (const page of webhookPages) {
      const path = join(import.meta.dirname, "../../../docs", page);
      const text = readFileSync(path, "utf8");
      const names = Object.keys(parts).filter((name) => text.includes(`<!-- made: ${name} -->`));
      const ofPage = Object.fromEntries(names.map((name) => [name, parts[name]!]));
      await expect(withParts(text, ofPage)).toMatchFileSnapshot(path);
      shown.push(...names);
    }
    expect(shown.toSorted()).toEqual(Object.keys(parts).toSorted());
  });
});
