/** Every gateway before every other: a core over all connectors, each at its stand-in over HTTP, with a merchant for each pair. */
import { AdyenConnector } from "../../gateways/adyen/connector.ts";
import type { CardForwarder, ForwardRequest } from "../../gateways/card-forwarder.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import type { Connector, Gateway } from "../../gateways/connector.ts";
import { GatewayHttp } from "../../gateways/gateway-http.ts";
import { PayPalConnector } from "../../gateways/paypal/connector.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import { StripeConnector } from "../../gateways/stripe/connector.ts";
import { takeNotification } from "../../notifications/intake.ts";
import { processNoticesOnce } from "../../notifications/process-notices.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import { TestForwarder } from "../../testing/forwarder.ts";
import { type ReceivedRequest, Receiver } from "../../testing/receiver.ts";
import { noticeKey, standInAccounts } from "../../testing/stand-in-accounts.ts";
import { passesLuhn } from "../../vault/card.ts";
import { CircuitBreaker } from "../circuit-breaker.ts";
import type { Core } from "../core.ts";
import { type CoreFixture, startCoreFixture } from "../core-fixture.ts";
import { createSession, type SessionOwner } from "../create-session.ts";
import type { PaymentSession } from "../entities.ts";
import { reconcileOnce } from "../reconcile.ts";
import { recordRoutingRule } from "../routing-rules.ts";

/** What a gateway calls a plain decline and a fraud. */
const codes: Readonly<Record<Gateway, { readonly decline: string; readonly fraud: string }>> = {
  STRIPE: { decline: "insufficient_funds", fraud: "fraudulent" },
  ADYEN: { decline: "12", fraud: "20" },
  PAYPAL: { decline: "5120", fraud: "9500" },
  SANDBOX_A: { decline: "insufficient_funds", fraud: "fraudulent" },
  SANDBOX_B: { decline: "12", fraud: "20" },
};

/** Every gateway that there is a connector for. */
export const gateways = Object.keys(codes) as readonly Gateway[];

/** What the first gateway of a pair may do. */
export const troubles = ["decline", "fraud", "timeout", "error 500", "reset", "lost answer"] as const;
/** One of them. */
export type Trouble = (typeof troubles)[number];

/** One merchant, whose rule has two gateways. */
export type Pair = { readonly first: Gateway; readonly second: Gateway; readonly owner: SessionOwner };

/** Shorter than the service's own, as nothing is far away; long enough for two busy cores. */
const timing = { attemptTimeoutMs: 6_000, submissionBudgetMs: 45_000 };

/** All pairs' payments, on one database and one set of stand-ins. Close it at the test's end. */
export class PairBed {
  readonly base: CoreFixture;
  readonly core: Core;
  readonly #http: GatewayHttp;
  readonly #notices: Receiver;
  readonly #taking = new Set<Promise<void>>();
  #numbers = 0;

  private constructor(base: CoreFixture, notices: Receiver) {
    this.base = base;
    this.#http = new GatewayHttp();
    this.#notices = notices;
    this.core = this.#coreOverAll();
    notices.answerWith(async (request) => {
      const taken = this.#take(request);
      this.#taking.add(taken);
      await taken.finally(() => this.#taking.delete(taken));
      return { status: 200, body: "[accepted]" };
    });
  }

  static async start(): Promise<PairBed> {
    const [base, notices] = await Promise.all([startCoreFixture(), Receiver.start()]);
    return new PairBed(base, notices);
  }

  /** A new merchant with verified accounts of its own, so that no circuit breaker has seen another pair's trouble. */
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

  async #connect(named: readonly Gateway[]): Promise<SessionOwner> {
    const merchantId = systemEntropy.uuid();
    // The random end of the id: ids of one millisecond begin alike.
    const account = `test_pair${merchantId.replaceAll("-", "").slice(-20)}`;
    const connectionIds: string[] = [];
    for (const gateway of named) {
      const connectionId = systemEntropy.uuid();
      connectionIds.push(connectionId);
      const ofGateway = account + standInAccounts[gateway].acquirer.toLowerCase();
      await this.core.database.transaction(async (tx) => {
        await recordConnection(tx, { id: connectionId, merchantId, gateway, account: ofGateway });
        const credentials = standInAccounts[gateway].credentials(ofGateway);
        const credentialVersion = await stageCredentials(tx, this.core.sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion });
      });
      const notificationUrl = `${this.#notices.url}/${encodeId("gc", connectionId)}`;
      await this.base.sandbox.setAccount(ofGateway, { notificationUrl, hmacKey: noticeKey });
    }
    await this.core.database.transaction((tx) =>
      recordRoutingRule(tx, { merchantId, connectionIds, failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] }),
    );
    return { ...this.base.owner, merchantId };
  }

  /** Pays with a card that makes this trouble at the first gateway and none at the second. */
  async pay({ first, second, owner }: Pair, trouble: Trouble): Promise<PaymentSession> {
    // What it does is set here, for this payment alone.
    const number = cardNumber(++this.#numbers);
    const { sandbox } = this.base;
    await sandbox.setCard(standInAccounts[second].acquirer, number, { act: "approve" });
    await sandbox.setCard(standInAccounts[first].acquirer, number, behaviourOf(trouble, first));
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `${first} ${second} ${trouble}` };
    const created = await createSession(this.core, owner, order);
    const { session } = await this.base.trail(created.session);
    const paying = this.base.submit(session, number, `tok_${number}`, this.core);
    if (trouble === "reset") await Promise.race([this.#cutOff(first, session), paying]);
    return paying;
  }

  /** Ends the connection of the authorize that the stand-in keeps silent about. */
  async #cutOff(gateway: Gateway, session: PaymentSession): Promise<void> {
    const operation = `${standInAccounts[gateway].acquirer.toLowerCase()}.silence`;
    const attemptId = async () => (await this.base.trail(session)).attempts[0]?.id;
    let id = await attemptId();
    while (id === undefined) id = await attemptId();
    const silence = { operation, reference: encodeId("att", id) };
    // Closing the stand-ins ends the wait for an authorize that never came.
    await this.base.sandbox.paused(silence).catch(() => undefined);
    await this.base.sandbox.release(silence);
  }

  /** Lets recovery give back whatever is in doubt, with every horizon passed, until each session is done. */
  async settleAll(): Promise<void> {
    await this.base.sandbox.release({});
    await this.base.setClockAhead(60);
    while ((await this.#undone()) > 0) {
      await this.core.database.query(makeDue, []);
      while ((await reconcileOnce(this.core)) > 0) await Promise.all(this.core.inFlight);
      while (await processNoticesOnce(this.core));
    }
  }

  async #undone(): Promise<number> {
    const [row] = await this.core.database.query<{ undone: number }>(countUndone, []);
    return row!.undone;
  }

  async close(): Promise<void> {
    await this.base.sandbox.release({});
    await Promise.all([...this.core.inFlight, this.#notices.close()]);
    await Promise.all(this.#taking);
    await this.#http.close();
    await this.base.close();
  }

  async #take({ path, headers, body }: ReceivedRequest): Promise<void> {
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

/** Nobody's number, with the check digit that Stripe asks for (ISO/IEC 7812-1). */
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
  }
}

const makeDue = {
  name: "make_all_due",
  text: `WITH due AS (UPDATE attempt SET next_try_at = app.clock() WHERE status = 'VOIDING' RETURNING 1)
    UPDATE payment_session SET lease_until = app.clock() - interval '1 s' WHERE phase = 'PROCESSING'`,
};
const countUndone = {
  name: "count_undone",
  text: "SELECT count(*)::int AS undone FROM payment_session WHERE phase <> 'DONE'",
};
