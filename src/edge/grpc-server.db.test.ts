import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RpcError } from "../client/rpc-error.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const edge = await forFile(startEdgeFixture);
const server = await forFile(() => createGrpcServer(edge.parts, { reflection: true }));
const address: string = `127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
const client = await forFile(() => createGrpcClient(PaymentSessionService, address));

const options = () => ({ timeoutMs: 5_000, metadata: { authorization: `Bearer ${edge.keys.secret}` } });

describe("createGrpcServer()", () => {
  it.each([10n ** 15n, -(10n ** 11n), 2n ** 60n])("refuses a time outside of the calendar: %s s", async (seconds) => {
    const listed = client.listPaymentSessions({ createdAfter: { seconds, nanos: 0 } }, options());
    const error = await listed.then(
      () => expect.unreachable(),
      (failure) => new RpcError(failure),
    );
    expect(error.code).toBe("invalid_parameter");
    expect(edge.bugs).toEqual([]);
  });

  it("explains to a grpc-js client why a call is refused before any implementation", async () => {
    const raw = new Client(address, credentials.createInsecure());
    const refused = await new Promise<ServiceError | null>((resolve) => {
      const same = (bytes: Buffer) => bytes;
      raw.makeUnaryRequest("/payments.v1.PaymentSessionService/Unknown", same, same, Buffer.alloc(0), resolve);
    });
    raw.close();
    expect(refused?.code).toBe(status.UNIMPLEMENTED);
    expect(refused && new RpcError(refused).code).toBe("method_not_allowed");
  });

  it("lists between two times", async () => {
    const between = { createdAfter: { seconds: 0n, nanos: 0 }, createdBefore: { seconds: 253_402_300_799n, nanos: 0 } };
    expect((await client.listPaymentSessions(between, options())).paymentSessions).toEqual([]);
  });
});
