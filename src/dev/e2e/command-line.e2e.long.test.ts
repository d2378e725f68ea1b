/** Runs every command as a person or a script does: as a separate process, against a real demo. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { readDemoFile } from "../../demo/demo-file.ts";
import { forFile } from "../testing/for-file.ts";
import { Receiver } from "../testing/receiver.ts";
import { runCommand as run } from "../testing/run-command.ts";
import { objectionsTo } from "../testing/stock-verifiers.ts";
import { startTestDemo } from "./demo.fixture.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const onDemo = (...parts: string[]) => run([...parts, "--demo", demo.stateFolder]);

const folder = mkdtempSync(join(tmpdir(), "switchyard-command-line-"));
const [demo, receiver] = await Promise.all([forFile(startTestDemo), forFile(() => Receiver.start())]);
const created = await json("merchant", "create", "--name", "Tea House");
const merchantId: string = created.merchant.merchantId;
const firstKeys: { secretKey: string; publishableKey: string } = created.keys[0];

/** The answer of a command that succeeds, as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each command answers in its own shape, which the test checks.
async function json(...parts: string[]): Promise<any> {
  const { code, out, err } = await onDemo(...parts, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const ours = (...parts: string[]) => json(...parts, "--merchant", merchantId);

const addFrom = (credentials: object, ...parts: string[]) =>
  run(
    ["connection", "add", ...parts, "--credentials-file", "-", "--merchant", merchantId, "--demo", demo.stateFolder],
    {
      input: JSON.stringify(credentials),
    },
  );

describe("switchyard merchant", () => {
  it("creates a merchant that can accept payments immediately, and lists it", async () => {
    expect(merchantId).toMatch(/^mer_\w{26}$/);
    expect(firstKeys).toMatchObject({
      environment: "ENVIRONMENT_TEST",
      secretKey: expect.stringMatching(/^switchyard_test_sk_/),
      publishableKey: expect.stringMatching(/^switchyard_test_pk_/),
    });
    const { merchants } = await json("merchant", "list");
    expect(merchants.at(-1)).toEqual({ merchantId, name: "Tea House", testCell: 1, liveCell: 1 });
    const created = await onDemo("merchant", "create", "--name", "Another Tea House");
    expect(created.out).toMatch(/Created Another Tea House as mer_\w+.*\n {2}switchyard_test_sk_/);
  });
});

describe("switchyard keys", () => {
  it("regenerates a key and revokes the old one immediately, in this environment only", async () => {
    const session = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };
    const created = await json("merchant", "create", "--name", "Key Shop");
    const [test, live] = created.keys.map(({ secretKey }: { secretKey: string }) => secretKey);
    const createWith = (key: string) =>
      new RestClient({ restBase: demo.file.restBase, secretKey: key }).createSession(session, {
        idempotencyKey: `key-${key.slice(-6)}`,
      });
    expect(await createWith(test)).toMatchObject({ status: "CREATED", orderRef: "order-1" });
    const of = ["--merchant", created.merchant.merchantId];
    const { key } = await json("keys", "regenerate", "--kind", "secret", ...of);
    await expect(createWith(test)).rejects.toMatchObject({ name: "RestError", status: 401, code: "invalid_key" });
    expect(await createWith(key)).toMatchObject({ status: "CREATED" });
    expect(await createWith(live)).toMatchObject({ status: "CREATED" });
    const { apiKeys } = await json("keys", "list", ...of);
    expect(apiKeys.map(({ last4 }: { last4: string }) => last4)).toContain(key.slice(-4));
  });

  it("keeps the demo's own record of its keys", async () => {
    const secondShop = demo.file.merchants[1]!.merchantId;
    const { key } = await json("keys", "regenerate", "--kind", "publishable", "--merchant", secondShop);
    const merchants = readDemoFile(demo.stateFolder)?.merchants;
    expect(merchants?.[1]?.test.publishableKey).toBe(key);
    expect(merchants?.[1]?.live).toEqual(demo.file.merchants[1]?.live);
    const create = ["session", "create", "--amount", "0.01EUR", "--order", "o"];
    const described = await onDemo(...create, "--json", "--merchant", secondShop);
    expect(JSON.parse(described.out).vault.publishableKey).toBe(key);
  });
});

describe("switchyard connection, routing", () => {
  it("connects a gateway, verifies it, routes to it and shows the rule", async () => {
    const credentialsFile = join(folder, "credentials.json");
    writeFileSync(credentialsFile, '{"apiKey": "sandbox_test_tea-house"}');
    const add = ["connection", "add", "--gateway", "SANDBOX_A", "--account", "tea-house"];
    const { connection, notificationUrl } = await ours(...add, "--credentials-file", credentialsFile);
    expect(connection).toMatchObject({ gateway: "SANDBOX_A", account: "tea-house", verified: false });
    expect(notificationUrl).toBe(`${demo.file.connectOrigin}/gateway-notifications/test/${connection.connectionId}`);
    const early = await onDemo("routing", "set", "--connections", connection.connectionId, "--merchant", merchantId);
    expect(early).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not verified yet. (invalid_field, req_"),
    });

    const verified = await ours("connection", "verify", connection.connectionId);
    expect(verified).toMatchObject({
      verified: true,
      checks: expect.arrayContaining([expect.objectContaining({ passed: true })]),
    });
    const { connections } = await ours("connection", "list");
    expect(connections).toEqual([{ ...connection, verified: true }]);

    const set = await ours("routing", "set", "--connections", connection.connectionId, "--failover-on", "TIMEOUT");
    expect(set.routingRule).toMatchObject({
      version: 1,
      connectionIds: [connection.connectionId],
      failoverOn: ["TIMEOUT"],
    });
    expect(await ours("routing", "show")).toEqual(set);
    const shown = await onDemo("routing", "show", "--merchant", merchantId);
    const described = (authentication: string) =>
      `  priority 1  ${connection.connectionId}  SANDBOX_A  tea-house\n  failover on TIMEOUT (never on fraud)\n  retry at the same gateway off\n  cryptogram resend unanswered\n  customer authentication ${authentication}\n`;
    expect(shown.out).toBe(`Version 1\n${described("as-needed")}`);
    const again = await onDemo("routing", "set", "--connections", connection.connectionId, "--merchant", merchantId);
    expect(again).toMatchObject({ code: 0, out: `Version 2\n${described("as-needed")}` });
    const always = await onDemo("routing", "set", "--authentication", "always", "--merchant", merchantId);
    expect(always).toMatchObject({ code: 0, out: `Version 3\n${described("always")}` });
    const tested = await ours("routing", "test", "--amount", "49.00EUR", "--authentication", "never");
    expect(tested.authentication[0]).toBe("No gateway may ask for the customer.");
    expect((await ours("routing", "show")).routingRule.authentication).toBe("ALWAYS");

    const casesFile = join(folder, "cases.json");
    const conditions = { currencies: ["EUR"], amountFromMinor: 10_000, cardTypes: ["DEBIT"] };
    const list = [{ name: "Large", conditions, connectionIds: [connection.connectionId] }];
    writeFileSync(casesFile, JSON.stringify({ list, cardRanges: [{ digits: "457164", country: "DK" }] }));
    const cased = await onDemo("routing", "set", "--cases", casesFile, "--merchant", merchantId);
    expect(cased).toMatchObject({ code: 0 });
    expect(cased.out).toContain(
      "  case 1  Large: currency EUR, amount from 100.00 EUR, card type debit → SANDBOX_A\n  card ranges 1\n",
    );
    const payment = ["routing", "test", "--amount", "120.00EUR", "--merchant", merchantId];
    expect((await onDemo(...payment, "--card-type", "debit")).out).toContain("By the case “Large”\n");
    expect((await onDemo(...payment)).out).toContain("The case “Large” is skipped. Unknown: the card’s type.\n");
    const none = await ours("routing", "set", "--cases", "none");
    expect(none.routingRule.cases).toEqual({ list: [], cardRanges: [] });
    writeFileSync(casesFile, "[]");
    const wrong = await onDemo("routing", "set", "--cases", casesFile, "--merchant", merchantId);
    expect(wrong.err).toContain("The cases must be one JSON object");
    // Each of its commands is a process of its own: two dozen of them.
  }, 180_000);

  it("names the notification address for a gateway that sends notifications, and for no other", async () => {
    const key = { apiKey: "sandbox_test_sent" };
    const silent = await addFrom(key, "--gateway", "SANDBOX_A", "--account", "notified");
    expect(silent.out).toMatch(
      /^Added gc_.*\n {2}npx switchyard connection verify gc_\w+ --merchant mer_\w+ --demo \S+\n$/,
    );
    const sender = { ...key, merchantAccount: "test_sent", notificationHmacKey: "0F".repeat(32) };
    const sending = await addFrom(sender, "--gateway", "SANDBOX_B", "--account", "notified");
    expect(sending.out).toMatch(/\nConfigure the gateway to send its notifications to http:.*\/gc_\w+\n$/);
  });

  it("reads credentials from standard input, and exits with 1 when the gateway refuses them", async () => {
    const credentials = {
      apiKey: "sandbox_live_nobody",
      merchantAccount: "live_nobody",
      notificationHmacKey: "0F".repeat(32),
    };
    const added = await addFrom(credentials, "--gateway", "SANDBOX_B", "--account", "refused", "--json");
    expect(added).toMatchObject({ code: 0, err: "" });
    const { connectionId } = JSON.parse(added.out).connection;
    const verified = await onDemo("connection", "verify", connectionId, "--merchant", merchantId);
    expect(verified).toMatchObject({ code: 1, out: expect.stringMatching(/FAILED .*\n[\s\S]*Not verified/) });
  });
});

describe("switchyard origins", () => {
  it("sets the origins and shows them", async () => {
    const set = await ours("origins", "set", "https://shop.example.com", "http://localhost:3000");
    expect(set.settings.checkoutOrigins).toEqual(["https://shop.example.com", "http://localhost:3000"]);
    const shown = await onDemo("origins", "show", "--merchant", merchantId);
    expect(shown.out).toBe("https://shop.example.com\nhttp://localhost:3000\n");
    expect((await ours("origins", "set")).settings.checkoutOrigins).toEqual([]);
  });
});

describe("switchyard wallet", () => {
  it("sets the country, and makes, uses and erases a key", async () => {
    await ours("wallet", "set-country", "de");
    const made = await ours("wallet", "create-key", "--kind", "google", "--recipient", "BCR2DN4T263K6XYZ");
    const [{ id, publicKey }] = made.wallets.keys;
    expect(publicKey).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect((await ours("wallet", "use-key", id)).wallets.offered).toEqual(["google_pay"]);
    const shown = await onDemo("wallet", "show", "--merchant", merchantId);
    expect(shown.out).toMatch(
      new RegExp(`Offered: google_pay\nCountry: DE\n.*\n${id} +google +in use +BCR2DN4T263K6XYZ`),
    );
    expect((await ours("wallet", "erase-key", id)).wallets).toMatchObject({ offered: [], keys: [] });
    const again = await onDemo("wallet", "erase-key", id, "--merchant", merchantId);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining(`no key ${id}`) });
  });

  it("prints the request for Apple, and stores the domain file", async () => {
    const made = ["wallet", "create-key", "--kind", "apple-payment", "--recipient", "merchant.com.example"];
    expect((await onDemo(...made, "--merchant", merchantId)).out).toMatch(/\n-----BEGIN CERTIFICATE REQUEST-----\n/);
    const file = join(folder, "domain-file");
    writeFileSync(file, "7B227073");
    expect((await ours("wallet", "set-domain-file", file)).wallets.domainFile).toBe("7B227073");
  });
});

describe("a daily cap of a restricted key", () => {
  it("is given in major units, for each currency", async () => {
    const create = ["keys", "create", "--name", "Back office", "--rights", "refunds.create"];
    const { apiKey } = await ours(...create, "--refund-cap", "500.00EUR,1000JPY");
    expect(apiKey.refundCap).toMatchObject([
      { currency: "EUR", amountMinor: "50000" },
      { currency: "JPY", amountMinor: "1000" },
    ]);
  });
});

describe("switchyard endpoint", () => {
  it("registers an endpoint, verifies it by a signed event, and lists it", async () => {
    const { endpoint, signingSecret } = await ours(
      "endpoint",
      "add",
      receiver.url,
      "--events",
      "payment_session.succeeded",
    );
    expect(signingSecret).toMatch(/^switchyard_test_whsec_/);
    receiver.answerWith({ status: 500 });
    const refused = await onDemo("endpoint", "verify", endpoint.endpointId, "--merchant", merchantId);
    expect(refused).toMatchObject({
      code: 1,
      out: expect.stringMatching(/The endpoint answered 500 after \d+ ms\.\nNot verified/),
    });
    receiver.answerWith({ status: 204 });
    expect(await ours("endpoint", "verify", endpoint.endpointId)).toMatchObject({ verified: true, statusCode: 204 });
    expect(receiver.requests.flatMap((request) => objectionsTo(request, [signingSecret]))).toEqual([]);
    const { endpoints } = await ours("endpoint", "list");
    expect(endpoints).toEqual([{ ...endpoint, status: "ENABLED", verifiedAt: expect.any(String) }]);
  });
});

describe("switchyard session", () => {
  it("creates a session with the demo's key, once for one idempotency key, and shows it", async () => {
    const create = ["session", "create", "--amount", "49.00EUR", "--order", "order-77"];
    const created = await json(...create, "--idempotency-key", "order-77");
    expect(created).toMatchObject({ status: "CREATED", amountMinor: 4900, currency: "EUR", orderRef: "order-77" });
    expect(await json(...create, "--idempotency-key", "order-77")).toEqual(created);
    const shown = await json("session", "show", created.sessionId);
    expect(shown).toMatchObject({ sessionId: created.sessionId, status: "CREATED", attempts: [] });
    const described = await onDemo("session", "show", created.sessionId);
    expect(described.out).toBe(`${created.sessionId}  order-77  49.00 EUR  CREATED\n`);
    const live = await onDemo("session", "show", created.sessionId, "--environment", "live", "--json");
    expect({ code: live.code, refusal: JSON.parse(live.err) }).toMatchObject({
      code: 1,
      refusal: { code: "not_found" },
    });
  });

  it("takes an address and a key from a file or the environment instead of a demo", async () => {
    const create = ["session", "create", "--amount", "0.01EUR", "--order", "o"];
    const at = [...create, "--rest-base", demo.file.restBase];
    const key = demo.file.merchants[0]!.test.secretKey;
    const keyFile = join(folder, "secret-key");
    writeFileSync(keyFile, `${key}\n`);
    expect(await run([...at, "--secret-key-file", keyFile])).toMatchObject({ code: 0 });
    expect(await run(at, { env: { SWITCHYARD_SECRET_KEY: key } })).toMatchObject({ code: 0 });
    expect(await run(at)).toMatchObject({ code: 1, err: expect.stringContaining("SWITCHYARD_SECRET_KEY") });
  });
});

describe("attaching", () => {
  it("takes an address and an operator token from a file or the environment instead of a demo", async () => {
    const at = ["merchant", "list", "--grpc-address", demo.file.grpcAddress];
    const tokenFile = join(folder, "operator-token");
    writeFileSync(tokenFile, `${demo.file.operatorToken}\n`);
    expect(await run([...at, "--operator-token-file", tokenFile])).toMatchObject({ code: 0 });
    const inEnvironment = { SWITCHYARD_OPERATOR_TOKEN: demo.file.operatorToken };
    expect(await run(at, { env: inEnvironment })).toMatchObject({ code: 0 });
    expect(await run(at)).toMatchObject({ code: 1, err: expect.stringContaining("SWITCHYARD_OPERATOR_TOKEN") });
    const asMerchant = { SWITCHYARD_OPERATOR_TOKEN: demo.file.merchants[0]!.test.secretKey };
    expect(await run(at, { env: asMerchant })).toMatchObject({ code: 1, err: expect.stringContaining("(invalid_key") });
  });

  it("reports plainly that there is no demo or no answer", async () => {
    const without = await run(["merchant", "list", "--demo", folder]);
    expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/^There is no demo in .*npm start/) });
    const unreachable = await run(["merchant", "list", "--grpc-address", "127.0.0.1:9"], {
      env: { SWITCHYARD_OPERATOR_TOKEN: "x" },
    });
    expect(unreachable).toMatchObject({
      code: 1,
      err: "Nothing answers at 127.0.0.1:9, called directly by gRPC: no proxy variable is used. (unavailable)\n",
    });
    const noRest = await run(["session", "show", "ps_1", "--rest-base", "http://127.0.0.1:9"], {
      env: { SWITCHYARD_SECRET_KEY: "x" },
    });
    expect(noRest).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^http:.* gave no answer: .*\(unavailable\)\n$/),
    });
  });
});

describe("switchyard work-queue, reconciliation", () => {
  it("shows what waits for a person and what reconciliation found, and closes only what exists", async () => {
    expect(await json("work-queue", "list")).toEqual({ workItems: [], nextPageToken: "" });
    const listed = await onDemo("work-queue", "list", "--environment", "live");
    expect(listed).toMatchObject({ code: 0, out: "The work queue is empty.\n" });
    const closed = await onDemo("work-queue", "close", "wi_01h455vb4pex5vsknk084sn02q", "--note", "seen");
    expect(closed).toMatchObject({ code: 1, err: expect.stringContaining("(not_found, req_") });
    const { reconciliationRuns } = await json("reconciliation", "list", "--count", "1");
    expect(reconciliationRuns).toMatchObject([{ mismatches: 0, orphans: 0 }]);
    const reconciled = await onDemo("reconciliation", "list");
    expect(reconciled.out).toMatch(
      /^STARTED +FINISHED +ATTEMPTS +READ +BY NOTIFICATIONS +INCONCLUSIVE +MISMATCHES +ORPHANED\n20/,
    );
  });

  it("has the same figures for Prometheus", async () => {
    const text = await (await fetch(demo.file.metricsUrl)).text();
    expect(text).toContain(`switchyard_invariant_violations{environment="live",rule="two_capturable"} 0\n`);
    expect(text).toContain(`switchyard_work_items_open{environment="test",kind="ORPHANED_AUTHORIZATION"} 0\n`);
    expect(text).toContain(`switchyard_reconciliation_age_seconds{environment="test"} `);
  });
});

describe("switchyard alert", () => {
  it("sets where alerts are mailed to, and reports the required settings", async () => {
    const { out } = await onDemo("alert", "mail-to", "ops@example.com", "--merchant", merchantId);
    expect(out).toMatch(
      /^ops@example.com \(not confirmed\)\nAn address gets alerts once it has confirmed, .*\nAlerts are mailed only if .* SWITCHYARD_SMTP_URL/,
    );
    expect((await onDemo("alert", "mail-to", "--none", "--merchant", merchantId)).out).toMatch(/^None: /);
  });

  it("mutes topics, and shows the chat's host only", async () => {
    const muted = await onDemo("alert", "mute", "holds-expiring", "--merchant", merchantId);
    expect(muted.out).toBe("No chat: alerts are not posted.\nShown and not sent: holds-expiring.\n");
    const chat = await onDemo("alert", "mute", "--none", "--merchant", merchantId);
    expect(chat.out).toContain("Every alert is sent.");
  });
});

describe("switchyard audit", () => {
  it("shows who changed what, with the values before and after", async () => {
    const { entries } = await ours("audit", "list", "--count", "100");
    expect(entries).toContainEqual(
      expect.objectContaining({
        actor: expect.stringMatching(/^demo \(op_/),
        action: "CreateMerchant",
        subject: merchantId,
        after: { name: "Tea House" },
      }),
    );
  });
});
