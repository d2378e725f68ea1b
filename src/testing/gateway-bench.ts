/** One connector before the real pretend acquirers, with a man in the middle who can spoil every answer. */
import type { AuthorizeRequest, ChangingCall, Connector, Credentials, Hold } from "../gateways/connector.ts";
import { GatewayHttp } from "../gateways/gateway-http.ts";
import type { ConnectorParts } from "../gateways/sandbox/connector-parts.ts";
import { startSandbox } from "../gateways/sandbox/main.ts";
import { openSpecs, type SpecName } from "../gateways/testing/gateway-spec.ts";
import { Secret } from "../platform/secrets.ts";
import { TestForwarder } from "./forwarder.ts";
import { type Answer, Receiver } from "./receiver.ts";
import { SandboxControl } from "./sandbox-control.ts";

/** A card that both acquirers approve, and below it one that both decline. */
export const approvedCard = "4242424242424242";
export const declinedCard = "4000000000009995";

/** Where the man in the middle takes notices; read them from `middle.requests`. */
export const noticePath = "/notices";

/** What the man in the middle makes of an honest answer. */
export type Spoil = (honest: {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}) => Answer;

/** A connector before its gateway, with what a test sees and spoils between them. */
export type GatewayBench = Awaited<ReturnType<typeof startGatewayBench>>;

/** The connector that is put on the bench, and the credentials it calls with. */
export type BenchSubject = {
  readonly connect: (parts: ConnectorParts) => Connector;
  readonly credentials: Credentials;
  /** The gateway's own OpenAPI files, by which every request and every honest answer is judged. */
  readonly specs?: readonly SpecName[];
  /** Requests that no file knows, as `METHOD /path`. */
  readonly unlisted?: readonly RegExp[];
  /** The requests, as `METHOD /path`, whose answers are spoilt; all of them where it is left out. */
  readonly spoils?: RegExp;
};

// What a connection, and not a message, is about.
const hopByHop = /^(host|connection|keep-alive|content-length|transfer-encoding|date)$/;

/** Close it at the test's end. */
export async function startGatewayBench({ connect, credentials, ...subject }: BenchSubject) {
  const sandbox = await startSandbox({ port: 0, silenceMs: 20_000, lateMs: 20_000, slowCaptureMs: 20_000 });
  const middle = await Receiver.start();
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, approvedCard);
  let spoil: Spoil = (honest) => honest;
  const spec = subject.specs && openSpecs(subject.specs);
  const specProblems = new Set<string>();
  middle.answerWith(async ({ method, path, headers, body }) => {
    if (path === noticePath) return { status: 200 };
    const text = body.toString();
    const reply = await http.send({
      method: method === "GET" ? "GET" : "POST",
      url: sandbox.origin + path,
      headers: endToEnd(headers),
      body: method === "GET" ? undefined : text,
      timeoutMs: 20_000,
    });
    const title = `${method} ${path.split("?")[0]}`;
    const isJudged = spec !== undefined && !subject.unlisted?.some((one) => one.test(title));
    const noted = (problems: readonly string[]) => problems.forEach((problem) => void specProblems.add(problem));
    if (isJudged) noted(spec.requestProblems({ method, path, contentType: headers["content-type"], body: text }));
    if (reply.type !== "answer") return "reset";
    const honest = { status: reply.status, headers: endToEnd(reply.headers), body: Buffer.from(reply.body).toString() };
    if (isJudged) noted(spec.answerProblems({ method, path, ...honest }));
    return subject.spoils?.test(title) === false ? honest : spoil(honest);
  });
  let counted = 0;
  return {
    connector: connect({ http, forwarder, origin: middle.url, environment: "test" }),
    forwarder,
    sandbox: new SandboxControl(sandbox.origin),
    middle,
    connectTo: (origin: string, environment: "test" | "live" = "test") =>
      connect({ http, forwarder, origin, environment }),
    sandboxOrigin: sandbox.origin,
    spoilWith(next: Spoil): void {
      spoil = next;
    },
    /** A payment nobody made before. */
    newPayment(change: Partial<AuthorizeRequest> = {}): AuthorizeRequest {
      return {
        attemptReference: `att_bench${++counted}`,
        sessionId: `ps_bench${counted}`,
        vaultToken: new Secret("tok_bench"),
        orderRef: "order-1",
        amountMinor: 4900,
        currency: "EUR",
        ...change,
      };
    },
    call(idempotencyKey: string, timeoutMs = 5_000): ChangingCall {
      return { credentials, idempotencyKey, timeoutMs };
    },
    /** Throws where something was sent or answered that the gateway's specification does not know. */
    async close(): Promise<void> {
      await Promise.all([middle.close(), sandbox.close()]);
      await http.close();
      if (specProblems.size > 0) throw new Error(`Against the specification:\n${[...specProblems].join("\n")}`);
    },
  };
}

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !hopByHop.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** A payment that the gateway now holds. */
export async function holdPayment(bench: GatewayBench, payment: AuthorizeRequest): Promise<Hold> {
  const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${JSON.stringify(outcome)}`);
  const { attemptReference, amountMinor, currency } = payment;
  return { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
}
