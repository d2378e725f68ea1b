/** A session through the programs of others: stock grpc-js, buf curl by reflection, and curl. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  CreatePaymentSessionRequestSchema,
  CreatePaymentSessionResponseSchema,
  GetPaymentSessionRequestSchema,
  GetPaymentSessionResponseSchema,
} from "../../../gen/payments/v1/payment_session_pb.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const run = promisify(execFile);
const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");
const wanted = { amountMinor: 4900n, currency: "EUR" };
const timeoutMs = 10_000;
// The other tests call REST by fetch, so a machine without curl misses only curl's own behaviour.
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);
if (!hasCurl) console.warn("Skipped: curl on REST, because this machine has no curl (apt-get install curl).");

const demo = await joinTestDemo();
const authorization: string = `Bearer ${demo.file.merchants[0]!.test.secretKey}`;

describe("a payment session", () => {
  it("is created and read by stock @grpc/grpc-js, which reads an error's code and message too", async () => {
    const client = new Client(demo.file.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", authorization);
    const asIs = (bytes: Buffer) => bytes;
    const send = (method: string, request: Uint8Array) =>
      new Promise<Uint8Array>((resolve, reject) =>
        client.makeUnaryRequest(
          `/payments.v1.PaymentSessionService/${method}`,
          asIs,
          asIs,
          Buffer.from(request),
          metadata,
          { deadline: Date.now() + timeoutMs },
          (error: ServiceError | null, answer) => (error ? reject(error) : resolve(answer ?? new Uint8Array())),
        ),
      );
    const creation = (orderRef: string) =>
      toBinary(CreatePaymentSessionRequestSchema, create(CreatePaymentSessionRequestSchema, { ...wanted, orderRef }));
    try {
      const created = await send("CreatePaymentSession", creation("stock"));
      const { sessionId } = fromBinary(CreatePaymentSessionResponseSchema, created);
      const wish = toBinary(GetPaymentSessionRequestSchema, create(GetPaymentSessionRequestSchema, { sessionId }));
      const read = fromBinary(GetPaymentSessionResponseSchema, await send("GetPaymentSession", wish));
      expect(read.paymentSession).toMatchObject({ ...wanted, sessionId, orderRef: "stock" });
      const refused = send("CreatePaymentSession", creation(""));
      await expect(refused).rejects.toMatchObject({ code: 3, details: expect.stringMatching(/./) });
    } finally {
      client.close();
    }
  });

  it("is created and read by buf curl, which learns the schema by reflection", async () => {
    const call = async (method: string, message: object) => {
      const options = ["--protocol", "grpc", "--http2-prior-knowledge", "-H", `authorization: ${authorization}`];
      const url = `http://${demo.file.grpcAddress}/payments.v1.PaymentSessionService/${method}`;
      return JSON.parse((await run(buf, ["curl", ...options, "-d", JSON.stringify(message), url])).stdout);
    };
    const { sessionId } = await call("CreatePaymentSession", { amountMinor: 4900, currency: "EUR", orderRef: "buf" });
    const { paymentSession } = await call("GetPaymentSession", { sessionId });
    expect(paymentSession).toMatchObject({ amountMinor: "4900", orderRef: "buf", status: "CREATED" });
  });

  it.runIf(hasCurl)("is created and read by curl on REST", async () => {
    const base = `${demo.file.restBase}/payment-sessions`;
    const curl = async (...args: string[]) => {
      const common = ["--silent", "--show-error", "--fail", "--header", `Authorization: ${authorization}`];
      return JSON.parse((await run("curl", [...common, ...args])).stdout);
    };
    const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "curl" });
    const created = await curl("--header", "Content-Type: application/json", "--data", body, base);
    expect(Object.keys(created)).toEqual([
      "sessionId",
      "clientSecret",
      "status",
      "expiresAt",
      "vault",
      "orderRef",
      "amountMinor",
      "currency",
    ]);
    const read = await curl(`${base}/${created.sessionId}`);
    expect(read).toMatchObject({ amountMinor: 4900, orderRef: "curl", status: "CREATED", attempts: [] });
    expect(await curl(`${demo.file.restBase}/meta`)).toMatchObject({ service: "switchyard" });
  });
});
