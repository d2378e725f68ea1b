/** A developer's work with webhooks, by command, with a receiver that uses the published packages. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createDashboardClient } from "../../client/dashboard-client.ts";
import { Secret } from "../../platform/secrets.ts";
import { forFile } from "../testing/for-file.ts";
import { type ReceivedRequest, Receiver } from "../testing/receiver.ts";
import { callRpc, RunningCommand, runCommand } from "../testing/run-command.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

let receiver: Receiver;
const scope = () => ({ merchantId: demo.file.merchants[0]!.merchantId, environment: "ENVIRONMENT_TEST" as const });
const folder = mkdtempSync(join(tmpdir(), "switchyard-webhooks-"));
const demo = await joinTestDemo();
const dashboard = await forFile(() =>
  createDashboardClient(demo.file.grpcAddress, new Secret(demo.file.operatorToken)),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  receiver = await Receiver.start();
  return () => receiver.close();
});

// The demo's own file does not know the merchants that test files have added.
const keyFile = join(folder, "test-key");
writeFileSync(keyFile, demo.file.merchants[0]!.test.secretKey);

const onDemo = (...parts: string[]) => runCommand([...parts, ...demo.commandOptions]);

const call = (method: string, request: object) => callRpc(method, request, demo.commandOptions);

const pay = async (number = "4242424242424242") => (await new ApiCheckout(demo.file).pay(number)).sessionId!;

/** Returns the event of a request, if both published verifiers accept it, and refuse it once tampered with. */
function verified(secret: string, request: ReceivedRequest): { type: string; data: { sessionId: string } } {
  expect(objectionsTo(request, [secret])).toEqual([]);
  return JSON.parse(request.body.toString());
}

const bringing = (sessionId: string) => (request: ReceivedRequest) => request.body.includes(sessionId);

describe("switchyard listen", () => {
  const listen = (...more: string[]) =>
    new RunningCommand([
      "listen",
      ...demo.commandOptions,
      "--forward",
      `${receiver.url.replace("127.0.0.1", "localhost")}/hook`,
      "--secret-key-file",
      keyFile,
      "--cursor-file",
      join(folder, "cursor"),
      ...more,
    ]);

  it("forwards events signed, each once even if it was stopped meanwhile, with one secret", async () => {
    await pay();
    const command = listen("--print-json");
    const secret = (await command.waitForLine(/whsec_/)).trim();
    expect(secret).toMatch(/^switchyard_test_whsec_[A-Za-z0-9+/]{43}=$/);
    await command.waitForLine(/^Forwarding test events to http/);

    const first = await pay();
    const request = await receiver.waitFor(bringing(first));
    expect(request).toMatchObject({ method: "POST", path: "/hook" });
    expect(verified(secret, request)).toMatchObject({ type: "payment_session.succeeded", data: { sessionId: first } });
    const eventId = String(request.headers["webhook-id"]);
    await command.waitForLine(new RegExp(`payment_session.succeeded {2}${eventId} {2}200 after \\d+ ms`));
    await command.waitForLine(/^\{"id":"evt_/);

    let starting = true;
    receiver.answerWith(() => {
      const answer = starting ? "reset" : { status: 400 };
      starting = false;
      return answer;
    });
    const second = await pay();
    await command.waitForLine(/connection_lost: retrying/);
    await command.waitForLine(/ {2}400 after \d+ ms/);
    await command.waitForLine(/Check that your server verifies with the secret above/);
    const [lost, again] = await receiver.waitForCount(2, bringing(second));
    expect(again?.headers["webhook-id"]).toBe(lost?.headers["webhook-id"]);
    expect(again?.body).toEqual(lost?.body);

    expect(await command.stop()).toBe(0);
    expect(readFileSync(join(folder, "cursor"), "utf8")).toMatch(/^\S{20,}\n$/);

    const missed = await pay();
    receiver.answerWith({ status: 204 });
    const restarted = listen();
    const later = await receiver.waitFor(bringing(missed), 20_000);
    expect(verified((await restarted.waitForLine(/whsec_/)).trim(), later).data.sessionId).toBe(missed);
    expect(restarted.lines.find((line) => line.includes("whsec_"))?.trim()).toBe(secret);
    await restarted.waitForLine(/ {2}204 after/);
    expect(await restarted.stop()).toBe(0);
    expect(receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sessionId)).toEqual([
      first,
      second,
      second,
      missed,
    ]);
  });

  it("forwards the requested types, from where the last run ended", async () => {
    await pay();
    const declined = await pay("4100000000000019");
    const command = listen("--events", "payment_session.declined");
    const request = await receiver.waitFor(bringing(declined), 20_000);
    expect(JSON.parse(String(request.body)).type).toBe("payment_session.declined");
    await command.waitForLine(/200 after/);
    expect(await command.stop()).toBe(0);
    expect(receiver.requests).toHaveLength(1);
  });

  it("takes a restricted key that may read events, and begins at a time", async () => {
    const { key } = await call("ApiKeyService/CreateRestrictedKey", { name: "Listen", rights: ["events.read"] });
    const file = join(folder, "key");
    writeFileSync(file, key);
    const since = new Date().toISOString();
    const sessionId = await pay();
    const command = new RunningCommand([
      ...["listen", "--forward", `${receiver.url}/hook`, "--since", since, "--secret-key-file", file],
      ...["--grpc-address", demo.file.grpcAddress],
    ]);
    await receiver.waitFor(bringing(sessionId), 20_000);
    expect(await command.stop()).toBe(0);
  });

  it("is refused for live, for unknown types, and for a place that is none", async () => {
    const to = ["listen", "--forward", "http://localhost:3000/hook", "--demo", demo.stateFolder];
    const key = demo.file.merchants[0]!.live.secretKey;
    const live = await runCommand(to, { env: { SWITCHYARD_SECRET_KEY: key } });
    expect(live).toMatchObject({ code: 1, err: expect.stringMatching(/^This is a key of live/) });
    expect(live.err).not.toContain(key);
    const refused = async (...more: string[]) => (await onDemo(...to, "--secret-key-file", keyFile, ...more)).err;
    expect(await refused("--events", "payment.made")).toMatch(
      /^payment\.made is no type of event: payment_session\.succeeded, /,
    );
    const place = join(folder, "place");
    writeFileSync(place, "evt_01h455vb4pex5vsknk084sn02q\n");
    expect(await refused("--cursor-file", place)).toMatch(/cursor/);
    const { err } = await onDemo("listen", "--forward", "localhost:3000");
    expect(err).toMatch(/^Give a URL to post to: --forward http/);
  });
});

describe("the webhooks of a merchant, by rpc", () => {
  let endpointId: string;
  let secret: string;
  beforeEach(async () => {
    const { endpoint, signingSecret } = await dashboard.endpoints.addWebhookEndpoint({ ...scope(), url: receiver.url });
    [endpointId, secret] = [endpoint?.endpointId ?? "", signingSecret ?? ""];
    await dashboard.endpoints.verifyWebhookEndpoint({ ...scope(), endpointId });
    return async () => {
      await dashboard.endpoints.removeWebhookEndpoint({ ...scope(), endpointId });
    };
  });

  async function deliveriesOf(sessionId: string) {
    for (;;) {
      const { deliveries = [] } = await dashboard.deliveries.listWebhookDeliveries({
        ...scope(),
        endpointId,
        sessionId,
      });
      if (deliveries.length > 0) return deliveries;
    }
  }

  it("shows every attempt of a delivery, and replays it with the same id and bytes", async () => {
    receiver.answerWith({ status: 500, body: "not yet" });
    const sessionId = await pay();
    const failed = await receiver.waitFor(bringing(sessionId));
    receiver.answerWith({ status: 200 });
    const [, taken] = await receiver.waitForCount(2, bringing(sessionId), 20_000);
    expect(verified(secret, taken!).data.sessionId).toBe(sessionId);
    const eventId = String(failed.headers["webhook-id"]);
    // It is not recorded yet that it was accepted, and a delivery that is being posted is not replayed.
    const recorded = async () =>
      (await call("WebhookDeliveryService/GetWebhookDelivery", { eventId, endpointId })).delivery.status;
    await expect.poll(recorded).toBe("SUCCEEDED");
    const replayed = await call("WebhookDeliveryService/ReplayWebhookDelivery", { eventId, endpointId });
    expect(replayed).toMatchObject({ accepted: true, attempt: { statusCode: 200 }, delivery: { status: "SUCCEEDED" } });
    const again = receiver.requests.at(-1)!;
    expect([again.headers["webhook-id"], again.body]).toEqual([eventId, failed.body]);

    const { log, body } = await call("WebhookDeliveryService/GetWebhookDelivery", { eventId, endpointId });
    expect(log.map((tried: { statusCode: number }) => tried.statusCode)).toEqual([500, 200, 200]);
    expect(log[0].answerExcerpt).toBe("not yet");
    expect(body).toBe(String(failed.body));
    expect(await deliveriesOf(sessionId)).toMatchObject([{ eventId, status: "SUCCEEDED", scheduledAttempts: 2 }]);
    receiver.answerWith({ status: 404 });
    expect(await call("WebhookDeliveryService/ReplayWebhookDelivery", { eventId, endpointId })).toMatchObject({
      accepted: false,
      attempt: { statusCode: 404 },
      delivery: { status: "SUCCEEDED" },
    });
  });

  it("pauses and resumes: pending deliveries are sent", async () => {
    await call("WebhookEndpointService/PauseWebhookEndpoint", { endpointId });
    const sessionId = await pay();
    await deliveriesOf(sessionId);
    const { deliveries } = await call("WebhookDeliveryService/ListWebhookDeliveries", {
      endpointId,
      status: "PENDING",
    });
    expect(deliveries).toMatchObject([{ sessionId, scheduledAttempts: 0 }]);
    expect(receiver.requests.filter(bringing(sessionId))).toEqual([]);
    await call("WebhookEndpointService/ResumeWebhookEndpoint", { endpointId });
    await receiver.waitFor(bringing(sessionId));
  });

  it("disables and enables, and sends what was missed", async () => {
    const since = new Date().toISOString();
    const { endpoint } = await call("WebhookEndpointService/DisableWebhookEndpoint", { endpointId });
    expect(endpoint).toMatchObject({ status: "DISABLED", disabledReason: "OWNER" });
    const sessionId = await pay();
    await deliveriesOf(sessionId);
    await call("WebhookEndpointService/EnableWebhookEndpoint", { endpointId });
    expect(await call("WebhookDeliveryService/RecoverWebhookDeliveries", { endpointId, since })).toMatchObject({
      due: 1,
    });
    await receiver.waitFor(bringing(sessionId));
  });

  it("rotates the secret and changes URL and types", async () => {
    const { endpoint, signingSecret } = await call("WebhookEndpointService/RotateWebhookSecret", {
      endpointId,
      overlapHours: 1,
    });
    expect(endpoint.overlapUntil).toMatch(/Z$/);
    const sessionId = await pay();
    const request = await receiver.waitFor(bringing(sessionId));
    for (const each of [secret, signingSecret]) expect(verified(each, request).data.sessionId).toBe(sessionId);
    const moved = { endpointId, url: `${receiver.url}/new`, eventTypes: { types: [] } };
    const updated = await call("WebhookEndpointService/UpdateWebhookEndpoint", moved);
    expect(updated.endpoint).toMatchObject({ status: "PENDING", url: moved.url, overlapUntil: endpoint.overlapUntil });
  });
});
