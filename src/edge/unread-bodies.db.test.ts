import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge-fixture.ts";
import { createGrpcServer, type GrpcServer } from "./grpc-server.ts";
import { WireClient } from "./testing/grpc-wire.ts";
import { exchangeRaw } from "./testing/raw-exchange.ts";

let edge: EdgeFixture;
let server: GrpcServer;
let wire: WireClient;
// What happens while a caller is looked up.
let meanwhile = async () => {};
beforeAll(async () => {
  edge = await startEdgeFixture();
  server = createGrpcServer(
    {
      ...edge.parts,
      async authenticate(method, authorization, tellLimits) {
        await meanwhile();
        if (authorization === "Bearer broken") throw new Error("a bug in authentication");
        return edge.parts.authenticate(method, authorization, tellLimits);
      },
    },
    { reflection: false },
  );
  wire = new WireClient(await server.listen(0, "127.0.0.1"));
});
afterAll(async () => {
  wire.close();
  await server.close();
  await edge.close();
});

const createPath = `/${PaymentSessionService.typeName}/CreatePaymentSession`;
const types = ["application/grpc", "application/grpc-web+proto", "application/proto", "application/json"];

describe.each(types)("a call as %s whose body does not come", (type) => {
  it("is refused for its key all the same", async () => {
    const answer = await wire.call(createPath, { "content-type": type, authorization: "Bearer unknown" });
    expect(answer.reason).toBe("invalid_key");
    expect(edge.bugs).toEqual([]);
  });

  it("is told of a bug of ours in its own form", async () => {
    const answer = await wire.call(createPath, { "content-type": type, authorization: "Bearer broken" });
    expect(answer.reason).toBe("internal");
    expect(edge.bugs.splice(0)).toEqual([new Error("a bug in authentication")]);
  });
});

describe("a checkout's call whose body does not come", () => {
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

describe("a caller that leaves while it is looked up", () => {
  it("is no bug, though nobody can be told of its refusal", async () => {
    const stream = wire.session.request({ ":method": "POST", ":path": createPath, "content-type": "application/grpc" });
    stream.on("error", () => {});
    const hasLeft = new Promise<void>((resolve) => {
      meanwhile = async () => {
        meanwhile = async () => {};
        stream.close();
        // What the same connection sends later is read later.
        await wire.call("/payments.v1.MetaService/GetMeta", { "content-type": "application/proto" }, new Uint8Array());
        setImmediate(resolve);
      };
    });
    await hasLeft;
    expect((await wire.call(createPath, { "content-type": "application/grpc" })).reason).toBe("invalid_key");
    expect(edge.bugs).toEqual([]);
  });
});
