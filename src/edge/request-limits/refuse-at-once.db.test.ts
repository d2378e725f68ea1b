import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { GetCheckoutRequestSchema } from "../../../gen/payments/v1/checkout_pb.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { frameMessage } from "../../platform/grpc-message.ts";
import { startEdgeFixture } from "../edge.fixture.ts";

const sessionBurst = 20;
const path = "/payments.v1.CheckoutService/GetCheckout";

let limited: LimitedEdge;
let nowMs: number;
const edge = await forFile(startEdgeFixture);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
beforeEach(async () => {
  nowMs = 0;
  limited = await startLimitedEdge(edge, { perSecond: 100, burst: 200 }, { nowMs: () => nowMs });
});
afterEach(() => limited.close());
afterAll(() => agent.destroy());

type Session = { readonly sessionId: string; readonly clientSecret: string };

async function openSession(): Promise<Session> {
  const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1" });
  return (await edge.call("POST", "/payment-sessions", { body })).json;
}

const forms = {
  "application/json": ({ sessionId }: Session) => JSON.stringify({ sessionId }),
  "application/proto": ({ sessionId }: Session) => messageOf(sessionId),
  "application/grpc-web+proto": ({ sessionId }: Session) => frameMessage(messageOf(sessionId)),
} as const;

const messageOf = (sessionId: string) =>
  toBinary(GetCheckoutRequestSchema, { $typeName: "payments.v1.GetCheckoutRequest", sessionId });

async function call(session: Session, { form = "application/json" as keyof typeof forms } = {}) {
  const headers = {
    authorization: `Bearer ${session.clientSecret}`,
    "content-type": form,
    origin: "https://shop.example",
  };
  const sent = request(limited.publicOrigin + path, { method: "POST", agent, headers });
  sent.end(forms[form](session));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await answer.toArray()).join("");
  return { status: answer.statusCode, headers: answer.headers, text, port: sent.socket?.localPort };
}

/** Returns an answer without what every request has of its own. */
function comparable({ status, headers, text }: Awaited<ReturnType<typeof call>>) {
  const id = String(headers["request-id"]);
  expect(id).toMatch(/^req_[0-9a-z]{26}$/);
  const encoded = /"value":"([^"]+)"/.exec(text)?.[1] ?? String(headers["grpc-status-details-bin"]);
  const detail = Buffer.from(encoded, "base64").toString("latin1");
  expect(detail).toContain(id);
  const inClear = JSON.stringify(detail).slice(1, -1);
  const without = (whole: string) => whole.replaceAll(encoded, inClear).replaceAll(id, "req_");
  // What frames an answer: the longer way ends the connection, because it has not read the body.
  const { date, connection, "keep-alive": _, "content-length": __, "transfer-encoding": ___, ...same } = headers;
  return { status, headers: JSON.parse(without(JSON.stringify(same))), text: without(text) };
}

describe("a call that is refused at once", () => {
  it.each(Object.keys(forms) as (keyof typeof forms)[])(
    "has every byte of the longer way's answer but the id: %s",
    async (form) => {
      const session = await openSession();
      for (let nth = 0; nth < sessionBurst; nth++) await call(session);
      const first = await call(session, { form });
      expect(String(first.headers["ratelimit-policy"])).toBe('"session";q=20;w=4');
      expect(first.headers.connection).toBe("close");
      const second = await call(session, { form });
      expect(second.headers.connection).toBe("keep-alive");
      expect(comparable(second)).toEqual(comparable(first));
    },
  );

  it("ends with its window, to the millisecond", async () => {
    const session = await openSession();
    for (let nth = 0; nth < sessionBurst + 2; nth++) await call(session);
    nowMs = 199;
    expect((await call(session)).status).toBe(429);
    nowMs = 200;
    expect((await call(session)).status).toBe(200);
    expect((await call(session)).status).toBe(429);
  });

  it("keeps its connection, and none whose body has not come", async () => {
    const session = await openSession();
    for (let nth = 0; nth < sessionBurst + 1; nth++) await call(session);
    const ports = new Set<number | undefined>();
    for (let nth = 0; nth < 5; nth++) ports.add((await call(session)).port);
    expect(ports.size).toBe(1);
    const { port } = new URL(limited.publicOrigin);
    const socket = connect(Number(port), "127.0.0.1");
    const head = `POST ${path} HTTP/1.1\r\nhost: edge\r\nauthorization: Bearer ${session.clientSecret}\r\ncontent-type: application/json\r\n`;
    // The second request is the body of the first.
    socket.write(`${head}content-length: 300\r\n\r\n${head}content-length: 2\r\n\r\n{}`);
    const answers = (await socket.toArray()).join("");
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 429"]);
    expect(answers).toMatch(/connection: close/i);
  });

  it("is none of a caller whose secret is not ours", async () => {
    const session = await openSession();
    for (let nth = 0; nth < sessionBurst + 2; nth++) await call(session);
    const forged = `${session.clientSecret.slice(0, -4)}AAAA`;
    expect((await call({ ...session, clientSecret: forged })).status).toBe(401);
  });
});
