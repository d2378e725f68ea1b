/** A connector with the real sandbox gateways, and a proxy between them that can spoil every answer. */
import type {
  AuthorizeRequest,
  ChangingCall,
  Connector,
  Credentials,
  Hold,
  Notification,
  NotificationReading,
} from "../../gateways/connector.ts";
import type { ConnectorParts } from "../../gateways/sandbox/connector-parts.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { startSandbox } from "../../sandbox/main.ts";
import { TestForwarder } from "./forwarder.ts";
import { type GatewaySpec, openSpecs, type SpecAnswer, type SpecName } from "./gateways/gateway-spec.ts";
import type { SpecRequest } from "./gateways/spec-operation.ts";
import { type Answer, type ReceivedRequest, Receiver } from "./receiver.ts";
import { SandboxControl } from "./sandbox-control.ts";

/** A card that both acquirers approve, and below it one that both decline. */
export const approvedCard = "4242424242424242";
export const declinedCard = "4000000000009995";

/** The path at which the proxy receives notifications; read them from `middle.requests`. */
export const notificationPath = "/notifications";

/** The change that the proxy makes to an honest answer. */
export type Spoil = (honest: {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}) => Answer;

/** A connector before its gateway, with the proxy between them. */
export type GatewayHarness = Awaited<ReturnType<typeof startGatewayHarness>>;

export type HarnessSubject = {
  readonly connect: (parts: ConnectorParts) => Connector;
  readonly credentials: Credentials;
  /** The gateway's own OpenAPI files, which every request and every honest answer must match. */
  readonly specs?: readonly SpecName[];
  /** Requests that no file has, as `METHOD /path`. */
  readonly unlisted?: readonly RegExp[];
  /** The requests, as `METHOD /path`, whose answers are spoilt; all of them by default. */
  readonly spoils?: RegExp;
};

// Headers about a connection, and not about a message.
const hopByHop = /^(host|connection|keep-alive|content-length|transfer-encoding|date)$/;

/** Close it at the test's end. */
export async function startGatewayHarness({ connect, credentials, ...subject }: HarnessSubject) {
  const sandbox = await startSandbox({
    port: 0,
    silenceMs: 20_000,
    lateMs: 20_000,
    slowCaptureMs: 20_000,
    slowRefundMs: 20_000,
    searchLagMs: 20_000,
  });
  const middle = await Receiver.start();
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, approvedCard);
  let spoil: Spoil = (honest) => honest;
  let replace: (request: ReceivedRequest) => Answer | undefined = () => undefined;
  const judge = judgeOf(subject);
  middle.answerWith(async (request) => {
    const { method, path, headers, body } = request;
    if (path === notificationPath) return { status: 200 };
    const replaced = replace(request);
    if (replaced !== undefined) return replaced;
    const text = body.toString();
    const reply = await http.send({
      method: method === "GET" || method === "DELETE" ? method : "POST",
      url: sandbox.origin + path,
      headers: endToEnd(headers),
      body: text === "" ? undefined : text,
      timeoutMs: 20_000,
    });
    judge.request({ method, path, contentType: headers["content-type"], body: text });
    if (reply.type !== "answer") return "reset";
    const honest = { status: reply.status, headers: endToEnd(reply.headers), body: Buffer.from(reply.body).toString() };
    judge.answer({ method, path, ...honest });
    return subject.spoils?.test(titleOf(request)) === false ? honest : spoil(honest);
  });
  return {
    connector: connect({ http, forwarder, origin: middle.url, environment: "test" }),
    http,
    forwarder,
    sandbox: new SandboxControl(sandbox.origin),
    middle,
    connectTo: (origin: string, environment: "test" | "live" = "test") =>
      connect({ http, forwarder, origin, environment }),
    sandboxOrigin: sandbox.origin,
    spoilWith(next: Spoil): void {
      spoil = next;
    },
    /** Answers in the gateway's place, so that a request never reaches it; undefined lets it through. */
    replaceWith(next: (request: ReceivedRequest) => Answer | undefined): void {
      replace = next;
    },
    newPayment: paymentMaker(),
    call(idempotencyKey: string, timeoutMs = 5_000): ChangingCall {
      return { credentials, idempotencyKey, timeoutMs };
    },
    /** Throws if a request or an answer is not in the gateway's specification. */
    async close(): Promise<void> {
      await Promise.all([middle.close(), sandbox.close()]);
      await http.close();
      judge.throwProblems();
    },
  };
}

function paymentMaker() {
  let counted = 0;
  return (change: Partial<AuthorizeRequest> = {}): AuthorizeRequest => ({
    attemptReference: `att_bench${++counted}`,
    sessionId: `ps_bench${counted}`,
    vaultToken: new Secret("tok_bench"),
    orderRef: "order-1",
    amountMinor: 4900,
    currency: "EUR",
    ...change,
  });
}

/** Keeps requests and answers, to check them against the specification at the end. */
function judgeOf({ specs, unlisted }: Pick<HarnessSubject, "specs" | "unlisted">) {
  const spec = specs && openSpecs(specs);
  const judgements: ((spec: GatewaySpec) => readonly string[])[] = [];
  const isJudged = (about: SpecRequest | SpecAnswer) =>
    spec !== undefined && !unlisted?.some((one) => one.test(titleOf(about)));
  return {
    request(request: SpecRequest) {
      if (isJudged(request)) judgements.push((judge) => judge.requestProblems(request));
    },
    answer(answer: SpecAnswer) {
      if (isJudged(answer)) judgements.push((judge) => judge.answerProblems(answer));
    },
    throwProblems() {
      const problems = new Set(spec === undefined ? [] : judgements.flatMap((judged) => judged(spec)));
      if (problems.size > 0) throw new Error(`Against the specification:\n${[...problems].join("\n")}`);
    },
  };
}

function titleOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.split("?")[0]}`;
}

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => value && !hopByHop.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

const readings = new WeakMap<ReceivedRequest, Promise<NotificationReading>>();

/** Returns the first notification of the gateway's that fits, past or future, as the connector reads it. */
export async function awaitNotification(
  { connector, middle, call }: GatewayHarness,
  fits: (notification: Notification) => boolean,
): Promise<Notification> {
  const { credentials } = call("");
  // Hundreds have arrived at the end of a file: each is read once.
  const read = (request: ReceivedRequest) => {
    const reading =
      readings.get(request) ?? connector.readNotification!(credentials, { headers: {}, body: request.body });
    readings.set(request, reading);
    return reading;
  };
  const isNotification = ({ path }: ReceivedRequest) => path === notificationPath;
  for (let seen = 0; ; ) {
    const arrived = middle.requests.filter(isNotification);
    for (const request of arrived.slice(seen)) {
      const reading = await read(request);
      const found = reading.type === "authentic" ? reading.notifications.find(fits) : undefined;
      if (found !== undefined) return found;
    }
    seen = arrived.length;
    await middle.waitForCount(seen + 1, isNotification);
  }
}

/** Has the sandbox report to the proxy, signed with this key. */
export function receiveNotifications({ sandbox, middle }: GatewayHarness, hmacKey: string): Promise<void> {
  return sandbox.setAccount("test_conformance", { notificationUrl: middle.url + notificationPath, hmacKey });
}

export async function holdPayment(harness: GatewayHarness, payment: AuthorizeRequest): Promise<Hold> {
  const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${JSON.stringify(outcome)}`);
  const { attemptReference, amountMinor, currency } = payment;
  return { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
}
