/** A connector over a simulated network: requests are refused, lost, delayed or doubled, and so are their answers. */
import type { AuthenticationResult } from "../../gateways/authentication.ts";
import type {
  ActionAnswer,
  AttemptAtGateway,
  AuthorizeAnswer,
  AuthorizeRequest,
  CaptureAnswer,
  CapturedPayment,
  ChangingCall,
  Connector,
  Gateway,
  GatewayAuthenticator,
  GatewayCall,
  GatewayDisputeAnswers,
  GatewayDisputes,
  GatewayRefunds,
  Hold,
  ListedRefund,
  LookUpAnswer,
  Notification,
  NotificationReading,
  RawNotification,
  RefundAnswer,
  RefundAtGateway,
  Unknown,
  VerifyRow,
  VoidAnswer,
} from "../../gateways/connector.ts";
import type { NetworkTokens } from "../../gateways/network-tokens.ts";
import type { GatewayStatements } from "../../gateways/statements.ts";
import { unreachable } from "../../platform/errors.ts";
import { decodeId } from "../../platform/ids.ts";
import { sha256 } from "../../platform/secrets.ts";
import type { Exchange, ExchangeResult, GatewayWorld } from "./gateway-world.ts";
import { soonMs } from "./notifications.ts";
import { refundKeyLifeMs } from "./refund-plan.ts";
import { simulatedAnswerer, simulatedReader, simulatedStatements } from "./simulated-dispute-connector.ts";
import type { Authorization, AuthorizeReply, GatewayShape, SimulatedGateway } from "./simulated-gateway.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";
import type { RefundReply } from "./simulated-refunds.ts";
import type { Network } from "./wallets.ts";

const timedOut: Unknown = { type: "unknown", kind: "TIMEOUT", reason: "no answer in time" };
const broken: Unknown = { type: "unknown", kind: "GATEWAY_ERROR", reason: "no whole answer" };
// After this time nothing waits for the answer to a capture, a void or a look-up, but it may still be executed.
const settlingLateMs = 120_000;

export class SimulatedConnector implements Connector {
  readonly gateway: Gateway;
  readonly canRead: boolean;
  readonly refusesVoidedReference: boolean;
  readonly executionLimitMs: number;
  readonly failsOnRequest = false;
  readonly importsProof: boolean;
  readonly asksExemptions?: true;
  readonly forwardFeatures = [];
  readonly credentialFields = [];
  readonly authentication: GatewayAuthenticator | undefined;
  readonly holdLifeMs: number | undefined;
  readonly refunds: GatewayRefunds;
  readonly disputes: GatewayDisputes | undefined;
  readonly disputeAnswers: GatewayDisputeAnswers | undefined;
  readonly statements: GatewayStatements | undefined;
  readonly storedCards: "own" | "network";
  readonly acceptsNetworkToken: NetworkTokens | undefined;
  readonly #process: SimulatedProcess;
  readonly #stage: Stage;
  readonly #world: GatewayWorld;

  constructor(
    gateway: Gateway,
    shape: GatewayShape,
    parts: {
      process: SimulatedProcess;
      stage: Stage;
      world: GatewayWorld;
      asks: boolean;
      holdLifeMs: number | undefined;
      network: Network;
      /** The time of the run's beginning, in a run with disputes, and whether it has statements. */
      disputesSinceMs: number | undefined;
      hasStatements: boolean;
    },
  ) {
    this.authentication = parts.asks ? this.#authenticator(shape) : undefined;
    this.refunds = this.#refunder(shape);
    if (parts.disputesSinceMs !== undefined) {
      const disputing = {
        epochMs: parts.disputesSinceMs,
        at: (call: GatewayCall) => this.#at(call),
        exchange: <Reply extends object>(exchange: Exchange<Reply>) => this.#exchange(exchange),
        lateMs: settlingLateMs,
      };
      this.disputes = shape.canRead
        ? simulatedReader(disputing, gateway === "STRIPE" ? "opened" : "changed")
        : undefined;
      this.disputeAnswers = simulatedAnswerer(disputing);
      if (parts.hasStatements && shape.canRead) this.statements = simulatedStatements(disputing, shape);
    }
    this.gateway = gateway;
    this.holdLifeMs = parts.holdLifeMs;
    this.acceptsNetworkToken = parts.network.tokensOf(gateway);
    this.canRead = shape.canRead;
    this.storedCards = shape.refusesVoidedReference ? "own" : "network";
    this.importsProof = shape.importsProof;
    if (shape.importsProof) this.asksExemptions = true;
    this.refusesVoidedReference = shape.refusesVoidedReference;
    this.executionLimitMs = shape.executionLimitMs;
    this.#process = parts.process;
    this.#stage = parts.stage;
    this.#world = parts.world;
  }

  whyNotPayable(): undefined {
    return undefined;
  }

  async authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer> {
    const { attemptReference, amountMinor, currency } = request;
    const cryptogram = request.wallet?.credential === "NETWORK_TOKEN" ? request.vaultToken.expose() : undefined;
    const payment = { attemptReference, amountMinor, currency, cryptogram };
    const hasProof = request.proof !== undefined && this.#world.isProof(request.proof.cryptogram);
    const isForged = request.proof !== undefined && !hasProof;
    const reached = await this.#exchange<AuthorizeReply>({
      sent: { type: "authorize", attemptReference, sessionId: request.sessionId, isForged },
      timeoutMs: call.timeoutMs,
      lateMs: this.executionLimitMs,
      execute: () => {
        const declined = this.#world.declineOf(attemptReference);
        if (declined) return declined;
        return this.#at(call).authorize(call.idempotencyKey, payment, {
          wish: request.authentication?.wish,
          isExempted: request.exemption !== undefined,
          isProven: hasProof || (request.exemption !== undefined && this.#world.grantsExemptions),
        });
      },
    });
    const authenticated = frictionlessOf(request.sessionId, this.gateway);
    return { outcome: outcomeOf(reached, amountMinor), card: { brand: "visa", last4: "4242" }, authenticated };
  }

  #authenticator({ holdsOnlyWhenAsked, actionLifeMs, canRead }: GatewayShape): GatewayAuthenticator {
    return {
      holdsOnlyWhenAsked,
      actionLifeMs,
      framing: "frame",
      readReturn: (fields) => (canRead ? undefined : (fields.get("redirectResult") ?? undefined)),
      complete: async (call, { attemptReference, amountMinor }) => {
        const reached = await this.#exchange<AuthorizeReply>({
          sent: { type: "complete", attemptReference },
          timeoutMs: call.timeoutMs,
          lateMs: this.executionLimitMs,
          execute: () => this.#at(call).complete(call.idempotencyKey, attemptReference),
        });
        return { outcome: outcomeOf(reached, amountMinor) };
      },
      ...(canRead && { askAction: (call, attempt) => this.#ask(call, attempt) }),
    };
  }

  async #ask(call: GatewayCall, attempt: AttemptAtGateway): Promise<ActionAnswer> {
    const reached = await this.#exchange({
      sent: { type: "ask", attemptReference: attempt.attemptReference },
      timeoutMs: call.timeoutMs,
      lateMs: 0,
      execute: () => this.#at(call).ask(attempt.attemptReference),
    });
    if (reached.type !== "reply") return { type: "inconclusive", reason: "no answer" };
    const { state, found } = reached.reply;
    if (found !== undefined) return recordOf(found, attempt);
    return { type: state === "passed" ? "answered" : state };
  }

  async capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer> {
    const { attemptReference } = hold;
    const reached = await this.#exchange({
      sent: { type: "capture", attemptReference, gatewayReference: hold.gatewayReference },
      timeoutMs: call.timeoutMs,
      lateMs: settlingLateMs,
      execute: () => this.#at(call).capture(call.idempotencyKey, hold.gatewayReference, hold.captureMinor),
    });
    if (reached.type === "unknown") return reached;
    if (reached.type === "refused") return { ...broken, reason: "connection refused" };
    const { type } = reached.reply;
    if (type === "busy" || type === "refused") {
      return { type: "refused", definitive: type === "refused", gatewayCode: type };
    }
    return { type };
  }

  async void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer> {
    const reached = await this.#exchange({
      sent: { type: "void", attemptReference: attempt.attemptReference },
      timeoutMs: call.timeoutMs,
      lateMs: settlingLateMs,
      execute: () => this.#at(call).void(call.idempotencyKey, attempt),
    });
    if (reached.type === "unknown") return reached;
    if (reached.type === "refused") return { ...broken, reason: "connection refused" };
    const { type } = reached.reply;
    return type === "busy" ? { type: "refused", definitive: false, gatewayCode: type } : { type };
  }

  async lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer> {
    const reached = await this.#exchange({
      sent: { type: "lookUp", attemptReference: attempt.attemptReference },
      timeoutMs: call.timeoutMs,
      lateMs: 0,
      execute: () => ({ found: this.#at(call).lookUp(attempt.attemptReference) }),
    });
    if (reached.type !== "reply") return { type: "inconclusive", reason: "no answer" };
    const { found } = reached.reply;
    return found === undefined ? { type: "absent" } : recordOf(found, attempt);
  }

  #refunder({ canRead }: GatewayShape): GatewayRefunds {
    return {
      keyLifeMs: refundKeyLifeMs / 2,
      needsConfirmedCapture: !canRead,
      refund: (call, captured, refund) => this.#refund(call, captured, refund),
      lookUpRefund: async (call, captured, refund) => {
        if (!canRead) return { type: "cannotTell", reason: "only notifications report" };
        const found = (await this.#readRefunds(call, captured))?.filter((one) =>
          refund.gatewayReference === undefined
            ? one.refundReference === refund.refundReference
            : one.gatewayReference === refund.gatewayReference,
        );
        if (found === undefined) return { type: "cannotTell", reason: "no answer" };
        const [one] = [...found.filter(({ status }) => status !== "failed"), ...found];
        if (one === undefined) return { type: "absent" };
        const { gatewayReference, status } = one;
        return status === "failed"
          ? { type: "failed", gatewayReference, gatewayCode: "returned" }
          : { type: status, gatewayReference };
      },
      ...(canRead && { listRefunds: (call, captured) => this.#readRefunds(call, captured) }),
    };
  }

  async #refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer> {
    const { attemptReference, gatewayReference } = captured;
    const { refundReference, amountMinor, currency } = refund;
    const reached = await this.#exchange<RefundReply>({
      sent: {
        type: "refund",
        attemptReference,
        refundReference,
        key: call.idempotencyKey,
        isFirstVersion: call.credentials.version === undefined,
        readsDisputes: this.disputes !== undefined,
      },
      timeoutMs: call.timeoutMs,
      lateMs: settlingLateMs,
      execute: () =>
        this.#at(call).refunds.refund(call.idempotencyKey, gatewayReference, {
          refundReference,
          amountMinor,
          currency,
        }),
    });
    if (reached.type === "unknown") return reached;
    if (reached.type === "refused") return { ...broken, reason: "connection refused" };
    const { reply } = reached;
    switch (reply.type) {
      case "refused":
        return { type: "refused", definitive: true, gatewayCode: "refused" };
      case "error":
        return { ...broken, isKept: true };
      case "done":
      case "accepted":
        return { type: reply.type, gatewayReference: reply.gatewayReference };
      default:
        return unreachable(reply);
    }
  }

  async #readRefunds(call: GatewayCall, captured: CapturedPayment): Promise<readonly ListedRefund[] | undefined> {
    const reached = await this.#exchange({
      sent: { type: "readRefunds", attemptReference: captured.attemptReference },
      timeoutMs: call.timeoutMs,
      lateMs: 0,
      execute: () => ({
        made: this.#at(call)
          .refunds.of(captured.gatewayReference)
          .map((one) => ({ ...one })),
      }),
    });
    return reached.type === "reply" ? reached.reply.made : undefined;
  }

  async verify(): Promise<readonly VerifyRow[]> {
    return [];
  }

  /** Signatures are the connectors' own concern; here a body is a notification. */
  async readNotification(_: unknown, { body }: RawNotification): Promise<NotificationReading> {
    return { type: "authentic", notifications: [JSON.parse(Buffer.from(body).toString()) as Notification] };
  }

  #at(call: GatewayCall): SimulatedGateway {
    return this.#world.gatewayOf(call.credentials.connectionId!.expose());
  }

  /** Sends one request and returns its result. A request that was sent continues, even if its process dies. */
  async #exchange<Reply extends object>(exchange: Exchange<Reply>): Promise<ExchangeResult<Reply>> {
    const { timeline, faults } = this.#stage;
    const { sent } = exchange;
    const what = `${this.gateway}: ${sent.type}`;
    const strikes = (kind: Parameters<typeof faults.strikes>[0]) => faults.strikes(kind, timeline.nowMs);
    const isRefused = await this.#process.step(`send ${what}`, async () => {
      if (strikes("refuseConnection")) return { type: "value", value: true };
      this.#world.onSent(sent);
      if (sent.type === "capture") this.#world.captureOnItsWay(sent.gatewayReference, 1);
      return { type: "value", value: false };
    });
    if (isRefused) return { type: "refused" };
    const answer = await this.#process.wait<ExchangeResult<Reply>>((arrive) => {
      timeline.after(exchange.timeoutMs, () => arrive(timedOut));
      this.#travel(exchange, (reached) => arrive(reached));
      if (sent.type === "authorize") this.#world.authorizeAgain(() => this.#execute(exchange));
      if (!strikes("executeTwice")) return;
      if (sent.type === "capture") this.#world.captureOnItsWay(sent.gatewayReference, 1);
      this.#travel(exchange, () => {});
    });
    this.#process.note(
      () => `${what} answered: ${answer.type === "reply" ? JSON.stringify(answer.reply) : reasonOf(answer)}`,
    );
    return answer;
  }

  #travel<Reply extends object>(exchange: Exchange<Reply>, arrive: (reached: ExchangeResult<Reply>) => void): void {
    const { timeline, faults, dice, history } = this.#stage;
    const { sent } = exchange;
    const strikes = (kind: Parameters<typeof faults.strikes>[0]) => faults.strikes(kind, timeline.nowMs);
    const note = (what: () => string) => history.add(timeline.nowMs, this.gateway, () => `${sent.type} ${what()}`);
    if (strikes("loseRequest")) {
      note(() => "is lost on its way");
      if (sent.type === "capture") this.#world.captureOnItsWay(sent.gatewayReference, -1);
      return;
    }
    if (strikes("breakAnswer")) timeline.after(dice.between(1, 2_000), () => arrive(broken));
    const late = exchange.lateMs > 0 && strikes("executeLate");
    const delayMs = late
      ? dice.between(exchange.timeoutMs, exchange.timeoutMs + exchange.lateMs)
      : dice.between(10, 900);
    timeline.after(delayMs, () => {
      if (sent.type === "capture") this.#world.captureOnItsWay(sent.gatewayReference, -1);
      if (strikes("answerWithError")) {
        note(() => "is answered 500, and not executed");
        return timeline.after(dice.between(1, 200), () => arrive(broken));
      }
      const reply = this.#execute(exchange);
      if (this.#world.isUnheard(sent) || strikes("loseAnswer") || isSilence(reply)) return;
      timeline.after(soonMs(dice), () => arrive({ type: "reply", reply }));
    });
  }

  #execute<Reply extends object>({ sent, execute }: Exchange<Reply>): Reply {
    const { timeline, history } = this.#stage;
    const reply = execute();
    history.add(timeline.nowMs, this.gateway, () => `${sent.type} is executed: ${JSON.stringify(reply)}`);
    this.#world.onExecuted();
    return reply;
  }
}

function recordOf(found: Authorization, { amountMinor }: AttemptAtGateway): LookUpAnswer {
  const { gatewayReference } = found;
  if (found.amountMinor !== amountMinor && found.state === "held") return { type: "heldOther", gatewayReference };
  switch (found.state) {
    case "held":
      return { type: "held", gatewayReference };
    case "captured":
      return { type: "captured", gatewayReference, capturedMinor: found.capturedMinor ?? found.amountMinor };
    case "voided":
      return { type: "voided" };
    case "declined":
      return found.declined!;
    default:
      return unreachable(found.state);
  }
}

function isSilence(reply: object): boolean {
  return "type" in reply && reply.type === "silence";
}

function reasonOf(answer: { type: "refused" } | Unknown): string {
  return answer.type === "unknown" ? answer.reason : "connection refused";
}

/**
 * Returns the result of an authentication without the customer, which a third of the first answers report. The same for
 * the same seed: the beginning of a session's id is the time of the run.
 */
function frictionlessOf(sessionId: string, gateway: Gateway): AuthenticationResult | undefined {
  const ofSeed = decodeId("ps", sessionId)?.slice(14);
  const transStatus = "YAUNR"[sha256(`${ofSeed} ${gateway}`)[0]! % 15];
  return transStatus === undefined ? undefined : { version: "2.2.0", transStatus };
}

function outcomeOf(reached: ExchangeResult<AuthorizeReply>, amountMinor: number): AuthorizeAnswer["outcome"] {
  if (reached.type === "unknown") return reached;
  if (reached.type === "refused") {
    return { type: "notProcessed", cause: "connection_refused", reason: "nothing was sent" };
  }
  const { reply } = reached;
  switch (reply.type) {
    case "held":
      if (reply.authorization.amountMinor !== amountMinor) return { ...broken, reason: "another amount" };
      return { type: "held", gatewayReference: reply.authorization.gatewayReference };
    case "declined":
      return reply;
    case "action":
      return { type: "actionNeeded", action: { url: "https://bank.example", method: "GET", fields: {} } };
    case "busy":
      return { type: "notProcessed", cause: "rate_limited", reason: "documented as not processed" };
    case "error":
    case "silence":
      return { ...broken, reason: "status 500" };
    default:
      return unreachable(reply);
  }
}
