/** Creates sessions over gRPC with grpc-js, in its own process: one connection, a concurrent call a caller. */
import { randomUUID } from "node:crypto";
import { toJsonString } from "@bufbuild/protobuf";
import {
  CreatePaymentSessionResponseSchema,
  PaymentSessionService,
} from "../../../gen/payments/v1/payment_session_pb.ts";
import { createGrpcClient } from "../../platform/grpc-client.ts";
import { answerParent } from "../testing/child-process.ts";
import { generateLoad, type LoadOrder, order } from "./load.ts";

const timeoutMs = 10_000;

async function load(wanted: LoadOrder) {
  const client = createGrpcClient(PaymentSessionService, wanted.address);
  const run = randomUUID();
  const amountMinor = BigInt(order.amountMinor);
  const create = async (number: number) => {
    const key = `${run}-${number}`;
    const metadata = { authorization: `Bearer ${wanted.secretKey}`, "idempotency-key": key };
    const message = { ...order, amountMinor, orderRef: key };
    const answer = await client.createPaymentSession(message, { timeoutMs, metadata });
    return number === 1 ? toJsonString(CreatePaymentSessionResponseSchema, answer) : answer.sessionId;
  };
  try {
    return await generateLoad(wanted, create);
  } finally {
    client.close();
  }
}

answerParent({ load });
