import { describe, expect, it } from "vitest";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { exchangeEndless, exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

// Runs while a caller is authenticated.
let meanwhile = async () => {};
const edge = await forFile(startEdgeFixture);
const server = await forFile(() =>
  createGrpcServer(
    {
      ...edge.parts,
      async authenticate(method, authorization, setLimitHeaders) {
        await meanwhile();
        if (authorization === "Bearer broken") throw new Error("a bug in authentication");
        return edge.parts.authenticate(method, authorization, setLimitHeaders);
      },
    },
    { reflection: false },
  ),
);
const wire = await forFile(async () => new WireClient(await server.listen(0, "127.0.0.1")));

const createPath = `/${PaymentSessionService.typeName}/CreatePaymentSession`;
const types = ["application/grpc", "application/grpc-web+proto", "application/proto", "application/json"];

describe.each(types)("a call as %s whose body does not arrive", (type) => {
  it("is refused for its key all the same", async () => {
    const answer = await wire.call(createPath, { "content-type": type, authorization: "Bearer unknown" });
    expect(answer.reason).toBe("invalid_key");
    expect(edge.bugs).toEqual([]);
  });

  it("reports a bug of ours in its own form", async () => {
    const answer = await wire.call(createPath, { "content-type": type, authorization: "Bearer broken" });
    expect(answer.reason).toBe("internal");
    expect(edge.bugs.splice(0)).toEqual([new Error("a bug in authentication")]);
  });
});

describe("a checkout's call whose body does not arrive", () => {
  it("is refused for its client secret all the same", async () => {
    const lines = [
      `POST /${CheckoutService.typeName}/GetCheckout HTTP/1.1`,
      "Host: a",
      "Content-Type: application/json",
      "Content-Length: 100",
    ];
    const { answers } = await exchangeRaw(edge.port, `${lines.join("\r\n")}\r\n\r\n`, 1);
    expect(answers.map(({ status }) => status)).toEqual([401]);
  });
});

describe("a body without an end", () => {
  const json = "Host: a\r\nContent-Type: application/json\r\n";
  const create = `POST /api/v1/payment-sessions HTTP/1.1\r\n${json}`;
  it.each<[string, () => string, number]>([
    ["without a key", () => create, 401],
    ["to a path that is none", () => `POST /nothing HTTP/1.1\r\n${json}`, 404],
    ["of an order", () => `${create}Authorization: Bearer ${edge.keys.secret}\r\n`, 413],
    ["of a checkout's call", () => `POST /${CheckoutService.typeName}/GetCheckout HTTP/1.1\r\n${json}`, 401],
  ])("%s is refused and its connection is closed", async (_, head, status) => {
    const { answers, rest, isReadOn } = await exchangeEndless(edge.port, head());
    expect(answers.map((answer) => [answer.status, answer.headers.get("connection")])).toEqual([[status, "close"]]);
    expect([rest, isReadOn]).toEqual(["", false]);
  });
});

describe("a caller that disconnects during authentication", () => {
  it("is no bug, though its refusal cannot be sent", async () => {
    const stream = wire.session.request({ ":method": "POST", ":path": createPath, "content-type": "application/grpc" });
    stream.on("error", () => {});
    const hasLeft = new Promise<void>((resolve) => {
      meanwhile = async () => {
        meanwhile = async () => {};
        stream.close();
        // Later data of the same connection is read later.
        await wire.call("/payments.v1.MetaService/GetMeta", { "content-type": "application/proto" }, new Uint8Array());
        setImmediate(resolve);
      };
    });
    await hasLeft;
    expect((await wire.call(createPath, { "content-type": "application/grpc" })).reason).toBe("invalid_key");
    expect(edge.bugs).toEqual([]);
  });
});
