/** Payments over an external vault, a stand-in process written from its published API, with real gateways' manners behind it. */
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Core } from "../../core/core.ts";
import { type CoreFixture, startCoreFixture } from "../../core/core-fixture.ts";
import { createSession } from "../../core/create-session.ts";
import { CreationsInProgress } from "../../core/creations-in-progress.ts";
import type { PaymentSession } from "../../core/entities.ts";
import { reconcileOnce } from "../../core/reconcile.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import type { VaultFault } from "../../testing/saas-vault/orders.ts";
import { VaultStandInProcess } from "../../testing/saas-vault/vault-stand-in-process.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../connections.ts";
import { GatewayHttp } from "../gateway-http.ts";
import { SandboxAConnector } from "../sandbox/a/connector.ts";
import { SandboxBConnector } from "../sandbox/b/connector.ts";
import { SaasVault } from "./saas-vault.ts";

const number = "4242424242424242";
const timing = { attemptTimeoutMs: 1_500, submissionBudgetMs: 20_000 };

let fixture: CoreFixture;
let standIn: VaultStandInProcess;
let http: GatewayHttp;
let core: Core;
const loggedLines: string[] = [];

beforeAll(async () => {
  [fixture, standIn] = await Promise.all([startCoreFixture(), VaultStandInProcess.start()]);
  http = new GatewayHttp();
  core = coreOverVault();
  const second = await addSecondAccount();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], [...fixture.connectionIds, second]);
});
afterEach(async () => {
  await standIn.setFaults();
  await fixture.sandbox.release({});
  await fixture.sandbox.setDown("B", false);
  await fixture.sandbox.setCard("B", number, { act: "approve" });
});
afterAll(async () => {
  await Promise.all(core.inFlight);
  await fixture.close();
  await standIn.close();
  await http.close();
});

/** The fixture's core as an installation with the external vault has it. */
function coreOverVault(): Core {
  const log = pino({ level: "debug" }, { write: (line) => loggedLines.push(line) });
  const vault = new SaasVault({ http, settings: standIn.settings, log, nowMs: () => systemEntropy.now().getTime() });
  const parts = { http, forwarder: vault, origin: fixture.sandbox.origin, environment: "test" } as const;
  const connectors = [new SandboxAConnector(parts), new SandboxBConnector(parts)];
  const connectorOf = (gateway: string) => connectors.find((connector) => connector.gateway === gateway);
  const { database, sealing } = fixture.core;
  const bind = createBinder({ database, ring: sealing, connectorOf });
  return { ...fixture.core, log, vault, timing, connectorOf, bind, inFlight: new Set() };
}

/** JSON bodies are all that the vault sends, so both gateways that can be asked are SANDBOX_B. */
async function addSecondAccount(): Promise<string> {
  const id = systemEntropy.uuid();
  const account = "test_second";
  const credentials = { apiKey: `sandbox_${account}`, merchantAccount: account, notificationHmacKey: "0F".repeat(32) };
  const { merchantId } = fixture.owner;
  await core.database.transaction(async (tx) => {
    await recordConnection(tx, { id, merchantId, gateway: "SANDBOX_B", account });
    const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId: id, credentials });
    await recordVerified(tx, { connectionId: id, credentialVersion });
  });
  return id;
}

const order = () => ({ amountMinor: 4900, currency: "EUR", orderRef: `order-${systemEntropy.uuid()}` });

async function openSession() {
  const { session, vault } = await createSession(core, fixture.owner, order());
  return { session, grant: String(vault.sdkAuthorization), vault };
}

/** Creates, tokenizes and pays; the session as the submit call left it. */
async function pay(faults: readonly VaultFault[] = [], holder?: string): Promise<PaymentSession> {
  const { session, grant } = await openSession();
  const token = await standIn.tokenize(grant, number, holder);
  await standIn.setFaults(...faults);
  return fixture.submit(session, number, token, core);
}

async function atGateway({ id }: PaymentSession) {
  const { attempts } = await fixture.trail({ id });
  const found = await Promise.all(attempts.map((one) => fixture.sandbox.authorizations(encodeId("att", one.id))));
  return found.flat().map(({ status }) => status);
}

describe("a payment over an external vault", () => {
  it("opens a session there, pays by its proxy, and shows the card that the vault tells of", async () => {
    const { vault } = await openSession();
    const { publishableKey, profileId, sdkUrl } = standIn.settings;
    expect(vault).toEqual({ mode: "saas", publishableKey, profileId, sdkUrl, sdkAuthorization: expect.any(String) });
    const { sessions } = await standIn.record();
    expect(sessions.at(-1)).toEqual({ storage_type: "volatile", expires_in: expect.any(Number) });
    // Half an hour, and a minute for a page that submits at the last moment.
    const { expires_in: expiresIn } = sessions.at(-1) as { expires_in: number };
    expect(Math.abs(expiresIn - 1_860)).toBeLessThan(10);

    const session = await pay([], "Ada Lovelace");
    expect(session).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      cardBrand: "visa",
      cardLast4: "4242",
      failover: false,
    });
    expect(session.skipped).toMatchObject([{ gateway: "SANDBOX_A", because: expect.stringContaining("form-encoded") }]);
    const { proxied } = await standIn.record();
    expect(proxied.at(-1)).toMatchObject({
      destination_url: `${fixture.sandbox.origin}/b/payments`,
      token_type: "volatile_payment_method_id",
      headers: { "idempotency-key": expect.stringMatching(/^att_/) },
      request_body: {
        paymentMethod: {
          number: "{{$card_number}}",
          expiryMonth: "{{$card_exp_month}}",
          expiryYear: "{{$card_exp_year}}",
          cvc: "{{$card_cvc}}",
          holderName: "{{$card_holder_name}}",
        },
      },
    });
  });

  it("fails over after a decline, and asks the second gateway without the security code, which the vault has given up", async () => {
    await fixture.sandbox.setCard("B", number, { act: "decline", code: "23" });
    await fixture.sandbox.hold("b.authorize");
    const paying = pay();
    await fixture.sandbox.paused({ operation: "b.authorize" });
    await fixture.sandbox.setCard("B", number, { act: "approve" });
    await fixture.sandbox.release({});
    const session = await paying;
    expect(session).toMatchObject({ status: "SUCCEEDED", failover: true });
    const { attempts } = await fixture.trail(session);
    expect(attempts).toMatchObject([{ status: "DECLINED", failureKind: "HARD_DECLINE" }, { status: "CAPTURED" }]);
    const methods = (await standIn.record()).proxied
      .slice(-2)
      .map(({ request_body: body }) => (body as { paymentMethod: object }).paymentMethod);
    expect(methods.map((method) => "cvc" in method)).toEqual([true, false]);
    expect(await atGateway(session)).toEqual(["declined", "captured"]);
  });

  it("never captures what the customer was told has failed, when the vault loses a gateway's answer", async () => {
    // SANDBOX_B tells by notice what it holds, but later.
    await fixture.sandbox.hold("b.notice");
    const session = await pay([{ operation: "proxy", moment: "after", effect: "cut" }]);
    expect(session).toMatchObject({ status: "DEGRADED", declineCode: "processing_unavailable" });
    const { attempts } = await fixture.trail(session);
    expect(attempts).toMatchObject([
      { status: "VOIDING", failureKind: "GATEWAY_ERROR", nextBecause: expect.stringContaining("card vault") },
    ]);
    await fixture.sandbox.release({});
    await expect
      .poll(
        async () => {
          await reconcileOnce(core);
          return atGateway(session);
        },
        { timeout: 15_000 },
      )
      .toEqual(["voided"]);
  });
});

type Told = { status: string; failureKind: string; next: "failover" | "stop" };
const refusal = (status: number, code: string) => ({ status, body: { error: { type: "x", message: "no", code } } });
const proxyFault = (moment: "before" | "after", effect: VaultFault["effect"]): VaultFault => ({
  operation: "proxy",
  moment,
  effect,
  times: 1,
});

const nothingSent: Told = { status: "FAILED", failureKind: "GATEWAY_ERROR", next: "stop" };
const lostAtVault: Told = { status: "VOIDING", failureKind: "GATEWAY_ERROR", next: "stop" };

describe("a vault in trouble, while a card is sent", () => {
  it.each<[string, VaultFault, Told, number]>([
    ["does not tell of the card", { operation: "read", moment: "before", effect: "cut" }, nothingSent, 0],
    ["refuses our key", proxyFault("before", refusal(401, "IR_01")), nothingSent, 0],
    ["keeps the card no longer", proxyFault("before", refusal(422, "IR_05")), nothingSent, 0],
    ["refuses the request", proxyFault("before", refusal(400, "IR_06")), { ...nothingSent, next: "failover" }, 1],
    ["cuts the connection before it sends", proxyFault("before", "cut"), lostAtVault, 0],
    ["cuts the connection afterwards", proxyFault("after", "cut"), lostAtVault, 1],
    ["answers like a proxy in between", proxyFault("after", { status: 502, body: "bad gateway" }), lostAtVault, 1],
    ["answers with a frame that is none", proxyFault("after", { status: 200, body: { response: {} } }), lostAtVault, 1],
    [
      "says only that something went wrong",
      proxyFault("after", refusal(500, "HE_00")),
      { ...lostAtVault, next: "failover" },
      2,
    ],
    ["never answers", proxyFault("after", "hang"), { status: "VOIDING", failureKind: "TIMEOUT", next: "failover" }, 2],
  ])("%s: what is known is said, and nothing else is taken for a decline", async (_, fault, told, asked) => {
    await fixture.sandbox.hold("b.notice");
    const session = await pay([fault]);
    const { attempts } = await fixture.trail(session);
    const { status, failureKind, next } = told;
    expect(attempts[0]).toMatchObject({ status, failureKind, nextAction: next });
    expect(attempts.map(({ status }) => status)).not.toContain("DECLINED");
    expect(session.status).toBe(told.next === "failover" ? "SUCCEEDED" : "DEGRADED");
    expect(await atGateway(session)).toHaveLength(asked);
  });

  it("cannot be connected to: nothing was sent, and the vault is named", async () => {
    const { session, grant } = await openSession();
    const token = await standIn.tokenize(grant, number);
    await standIn.kill();
    const ended = await fixture.submit(session, number, token, core);
    await standIn.restart();
    expect(ended).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect((await fixture.trail(session)).attempts).toMatchObject([
      { status: "FAILED", nextBecause: expect.stringContaining("card vault could not be used") },
    ]);
  });

  it("is well, and the gateway is down: the proxy does not tell, so the attempt is unknown and the next gateway is asked", async () => {
    await fixture.sandbox.setDown("B", true);
    const { attempts } = await fixture.trail(await pay());
    expect(attempts.map(({ failureKind }) => failureKind)).toEqual(["GATEWAY_ERROR", "GATEWAY_ERROR"]);
    expect(attempts.map(({ nextAction }) => nextAction)).toEqual(["failover", "stop"]);
  });

  it("does not know a token: nothing was sent", async () => {
    for (const token of ["token_unknown", "../v1/payment-methods", "x".repeat(5_000)]) {
      const { session } = await openSession();
      const ended = await fixture.submit(session, number, token, core);
      expect(ended).toMatchObject({ status: "DEGRADED", cardLast4: null });
      expect((await fixture.trail(session)).attempts).toMatchObject([
        { status: "FAILED", nextBecause: expect.stringContaining("keeps this card no longer") },
      ]);
    }
  });
});

describe("a vault in trouble, while a session is created", () => {
  it.each<[string, VaultFault["effect"]]>([
    ["cuts the connection", "cut"],
    ["never answers", "hang"],
    ["refuses our key", refusal(401, "IR_01")],
    ["is broken inside", refusal(500, "HE_00")],
    ["gives no grant", { status: 200, body: { id: "12345_pms_1" } }],
    ["gives an endless grant", { status: 200, body: { sdk_authorization: "x".repeat(5_000) } }],
  ])("%s: the creation is refused as unavailable, and its key stays usable", async (_, effect) => {
    const [fields, key] = [order(), systemEntropy.uuid()];
    await standIn.setFaults({ operation: "session", moment: "before", effect });
    await expect(createSession(core, fixture.owner, fields, key)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("card vault"),
    });
    await standIn.setFaults();
    expect(await createSession(core, fixture.owner, fields, key)).toMatchObject({ replayed: false });
  });
});

describe("a repeated creation", () => {
  it("is given the first answer without asking the vault, also while it is down", async () => {
    const [fields, key] = [order(), systemEntropy.uuid()];
    const first = await createSession(core, fixture.owner, fields, key);
    const { calls } = await standIn.record();
    await standIn.setFaults({ operation: "session", moment: "before", effect: "cut" });
    const again = await createSession(core, fixture.owner, fields, key);
    expect(again).toMatchObject({ replayed: true, vault: first.vault });
    expect((await standIn.record()).calls.session).toBe(calls.session);
  });

  it("that comes twice at once makes one session", async () => {
    const [fields, key] = [order(), systemEntropy.uuid()];
    const anotherProcess = { ...core, creations: new CreationsInProgress() };
    const both = await Promise.all([core, anotherProcess].map((one) => createSession(one, fixture.owner, fields, key)));
    expect(both.map(({ replayed }) => replayed).toSorted()).toEqual([false, true]);
    expect(both[0]!.vault).toEqual(both[1]!.vault);
  });
});

describe("the log of it all", () => {
  it("says what went wrong, and holds no key, grant, token or card", async () => {
    const logged = loggedLines.join("");
    expect(logged).toContain("the card vault opened no session");
    const { apiKey, publishableKey } = standIn.settings;
    const { proxied } = await standIn.record();
    const secrets = [apiKey.expose(), publishableKey, number, "client_secret", ...proxied.map(({ token }) => token)];
    for (const secret of secrets) expect(logged).not.toContain(secret);
    expect(JSON.stringify(proxied)).not.toContain(number);
  });
});
