/** Every gateway before every other: a core over all connectors, and a merchant for each pair. */
import type { CardForwarder, ForwardRequest } from "../../../card-vault/card-vault.ts";
import type { Core } from "../../../core/core.ts";
import { createSession, type SessionOwner } from "../../../core/create-session.ts";
import { CircuitBreaker } from "../../../core/execute/circuit-breaker.ts";
import { recordRoutingRule } from "../../../core/record/routing-rules.ts";
import type { PaymentSession } from "../../../core/rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "../../../core/scenarios/core.fixture.ts";
import { recoverSessionsOnce } from "../../../core/submit-payment.ts";
import { AdyenConnector } from "../../../gateways/adyen/connector.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../../../gateways/connections.ts";
import type { Connector, Gateway } from "../../../gateways/connector.ts";
import { PayPalConnector } from "../../../gateways/paypal/connector.ts";
import { SandboxAConnector } from "../../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../../gateways/sandbox/b/connector.ts";
import type { CardBehaviour } from "../../../gateways/sandbox/card-behaviour.ts";
import { StripeConnector } from "../../../gateways/stripe/connector.ts";
import { takeNotification } from "../../../oversight/notifications/intake.ts";
import { processNotificationsOnce } from "../../../oversight/notifications/process-notifications.ts";
import { unreachable } from "../../../platform/errors.ts";
import { encodeId } from "../../../platform/ids.ts";
import { passesLuhn } from "../../../platform/luhn.ts";
import { GatewayHttp } from "../../../platform/outbound-http.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import { emulatorAccounts, notificationKey } from "../emulator-accounts.ts";
import { TestForwarder } from "../forwarder.ts";
import { type ReceivedRequest, Receiver } from "../receiver.ts";

const codes: Readonly<Record<Gateway, { readonly decline: string; readonly fraud: string }>> = {
  STRIPE: { decline: "insufficient_funds", fraud: "fraudulent" },
  ADYEN: { decline: "12", fraud: "20" },
  PAYPAL: { decline: "5120", fraud: "9500" },
  SANDBOX_A: { decline: "insufficient_funds", fraud: "fraudulent" },
  SANDBOX_B: { decline: "12", fraud: "20" },
};

export const gateways = Object.keys(codes) as readonly Gateway[];

/** The failures of a pair's first gateway. */
export const troubles = ["decline", "fraud", "timeout", "error 500", "reset", "lost answer"] as const;
export type Trouble = (typeof troubles)[number];

/** A merchant, whose rule has two gateways. */
export type Pair = { readonly first: Gateway; readonly second: Gateway; readonly owner: SessionOwner };

/** Shorter than the service's own, because nothing is remote; long enough for two busy cores. */
const timing = { attemptTimeoutMs: 6_000, submissionBudgetMs: 45_000 };

/** All pairs' payments, on one database and one set of emulators. Close it at the test's end. */
export class PairHarness {
  readonly base: CoreFixture;
  readonly core: Core;
  readonly #http: GatewayHttp;
  readonly #notifications: Receiver;
  readonly #accepting = new Set<Promise<void>>();
  #numbers = 0;

  private constructor(base: CoreFixture, notifications: Receiver) {
    this.base = base;
    this.#http = new GatewayHttp();
    this.#notifications = notifications;
    this.core = this.#coreOverAll();
    notifications.answerWith(async (request) => {
      const accepted = this.#accept(request);
      this.#accepting.add(accepted);
      await accepted.finally(() => this.#accepting.delete(accepted));
      return { status: 200, body: "[accepted]" };
    });
  }

  static async start(): Promise<PairHarness> {
    const [base, notifications] = await Promise.all([startCoreFixture(), Receiver.start()]);
    return new PairHarness(base, notifications);
  }

  /** A new merchant with its own verified accounts, so that no circuit breaker has seen another pair's trouble. */
  async connect(first: Gateway, second: Gateway): Promise<Pair> {
    return { first, second, owner: await this.#connect([first, second]) };
  }

  /** Pays by a new merchant with this gateway alone, whose answer is lost, until the session is done. */
  async payAlone(gateway: Gateway): Promise<PaymentSession> {
    const owner = await this.#connect([gateway]);
    const session = await this.pay({ first: gateway, second: gateway, owner }, "lost answer");
    await Promise.all(this.core.inFlight);
    return session;
  }

  /** Pays by a new merchant with this gateway alone, with a card of this behaviour, until its capture is confirmed. */
  async payAt(gateway: Gateway, behaviour: CardBehaviour) {
    const owner = await this.#connect([gateway]);
    const number = cardNumber(++this.#numbers);
    await this.base.sandbox.setCard(emulatorAccounts[gateway].acquirer, number, behaviour);
    const { session } = await createSession(this.core, owner, {
      amountMinor: 4900,
      currency: "EUR",
      orderRef: gateway,
    });
    await this.base.submit(session, number, `tok_${number}`, this.core);
    await Promise.all(this.core.inFlight);
    for (;;) {
      await Promise.all(this.#accepting);
      while (await processNotificationsOnce(this.core));
      const loaded = await this.base.loadSession(session);
      if (loaded.session.captureConfirmed) return { ...loaded, owner, attempt: loaded.attempts[0]! };
    }
  }

  /** Has a new merchant's payment held by this gateway alone, until it is captured or cancelled. */
  async holdAt(gateway: Gateway): Promise<PaymentSession> {
    const owner = await this.#connect([gateway]);
    const number = cardNumber(++this.#numbers);
    await this.base.sandbox.setCard(emulatorAccounts[gateway].acquirer, number, { act: "approve" });
    const order = { amountMinor: 4900, currency: "EUR", orderRef: gateway, capture: "manual" } as const;
    const { session } = await createSession(this.core, owner, order);
    return this.base.submit(session, number, `tok_${number}`, this.core);
  }

  async #connect(named: readonly Gateway[]): Promise<SessionOwner> {
    const merchantId = systemRuntime.uuid();
    // The random end of the id: ids of one millisecond begin alike.
    const account = `test_pair${merchantId.replaceAll("-", "").slice(-20)}`;
    const connectionIds: string[] = [];
    for (const gateway of named) {
      const connectionId = systemRuntime.uuid();
      connectionIds.push(connectionId);
      const ofGateway = account + emulatorAccounts[gateway].acquirer.toLowerCase();
      await this.core.database.transaction(async (tx) => {
        await recordConnection(tx, { id: connectionId, merchantId, gateway, account: ofGateway });
        const credentials = emulatorAccounts[gateway].credentials(ofGateway);
        const credentialVersion = await stageCredentials(tx, this.core.sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion });
      });
      const notificationUrl = `${this.#notifications.url}/${encodeId("gc", connectionId)}`;
      await this.base.sandbox.setAccount(ofGateway, { notificationUrl, hmacKey: notificationKey });
    }
    await this.core.database.transaction((tx) =>
      recordRoutingRule(tx, { merchantId, connectionIds, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] }),
    );
    return { ...this.base.owner, merchantId };
  }

  /** Pays with a card that causes this failure at the first gateway and none at the second. */
  async pay({ first, second, owner }: Pair, trouble: Trouble): Promise<PaymentSession> {
    // Its behaviour is set here, for this payment alone.
    const number = cardNumber(++this.#numbers);
    const { sandbox } = this.base;
    await sandbox.setCard(emulatorAccounts[second].acquirer, number, { act: "approve" });
    await sandbox.setCard(emulatorAccounts[first].acquirer, number, behaviourOf(trouble, first));
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `${first} ${second} ${trouble}` };
    const created = await createSession(this.core, owner, order);
    const { session } = await this.base.loadSession(created.session);
    const paying = this.base.submit(session, number, `tok_${number}`, this.core);
    if (trouble === "reset") await Promise.race([this.#cutOff(first, session), paying]);
    return paying;
  }

  /** Ends the connection of the authorize that the emulator does not answer. */
  async #cutOff(gateway: Gateway, session: PaymentSession): Promise<void> {
    const operation = `${emulatorAccounts[gateway].acquirer.toLowerCase()}.silence`;
    const attemptId = async () => (await this.base.loadSession(session)).attempts[0]?.id;
    let id = await attemptId();
    while (id === undefined) id = await attemptId();
    const silence = { operation, reference: encodeId("att", id) };
    // Closing the emulators ends the wait for an authorize that was never sent.
    await this.base.sandbox.paused(silence).catch(() => undefined);
    await this.base.sandbox.release(silence);
  }

  /** Lets recovery void everything in doubt, with every latest execution time passed, until each session is done. */
  async settleAll(): Promise<void> {
    await this.base.sandbox.release({});
    await this.base.setClockAhead(60);
    while ((await this.#undone()) > 0) {
      await this.base.asOwner.query(makeDue, []);
      while ((await recoverSessionsOnce(this.core)) > 0) await Promise.all(this.core.inFlight);
      while (await processNotificationsOnce(this.core));
    }
  }

  async #undone(): Promise<number> {
    const [row] = await this.core.database.query<{ undone: number }>(countUndone, []);
    return row!.undone;
  }

  async close(): Promise<void> {
    await this.base.sandbox.release({});
    await Promise.all([...this.core.inFlight, this.#notifications.close()]);
    await Promise.all(this.#accepting);
    await this.#http.close();
    await this.base.close();
  }

  async #accept({ path, headers, body }: ReceivedRequest): Promise<void> {
    const { database, sealing, connectorOf } = this.core;
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    await takeNotification({ database, sealing, connectorOf }, path.slice(1), async () => ({ headers: named, body }));
  }

  #coreOverAll(): Core {
    const { core, sandbox } = this.base;
    const forwarder = cardByToken(this.#http);
    const parts = { http: this.#http, forwarder, origin: sandbox.origin, environment: "test" } as const;
    const connectors = new Map<string, Connector>(
      [
        new StripeConnector(parts),
        new AdyenConnector(parts),
        new PayPalConnector(parts),
        new SandboxAConnector(parts),
        new SandboxBConnector(parts),
      ].map((connector) => [connector.gateway, connector]),
    );
    const connectorOf = (gateway: string) => connectors.get(gateway);
    const bind = createBinder({ database: core.database, ring: core.sealing, connectorOf });
    return { ...core, connectorOf, bind, timing, circuitBreaker: new CircuitBreaker(), inFlight: new Set() };
  }
}

/** The card of each payment is in its token, so that many can be paid at once. */
function cardByToken(http: GatewayHttp): CardForwarder {
  return {
    forward: (request: ForwardRequest) =>
      new TestForwarder(http, request.token.expose().slice("tok_".length)).forward(request),
  };
}

/** An unassigned number, with the check digit that Stripe requires (ISO/IEC 7812-1). */
function cardNumber(nth: number): string {
  const digits = `49${String(nth).padStart(13, "0")}`;
  const last = [..."0123456789"].find((digit) => passesLuhn(digits + digit));
  return `${digits}${last}`;
}

function behaviourOf(trouble: Trouble, gateway: Gateway): CardBehaviour {
  switch (trouble) {
    case "decline":
      return { act: "decline", code: codes[gateway].decline };
    case "fraud":
      return { act: "decline", code: codes[gateway].fraud };
    case "timeout":
    case "reset":
      return { act: "stay_silent" };
    case "error 500":
      return { act: "fail", status: 500 };
    case "lost answer":
      return { act: "approve_lose_answer" };
    default:
      return unreachable(trouble);
  }
}

const makeDue = {
  name: "make_all_due",
  text: `WITH due AS (UPDATE attempt SET next_retry_at = app.clock() WHERE status = 'VOIDING' RETURNING 1)
    UPDATE payment_session SET lease_until = app.clock() - interval '1 s' WHERE phase = 'PROCESSING'`,
};
const countUndone = {
  name: "count_undone",
  text: "SELECT count(*)::int AS undone FROM payment_session WHERE phase <> 'DONE'",
};
