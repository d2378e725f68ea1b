/** The gRPC peer: a bare grpc-js server, with hand-written sessions. Its messages are the product's own. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from "@grpc/grpc-js";
import {
  type CreatePaymentSessionRequest,
  CreatePaymentSessionRequestSchema,
  type CreatePaymentSessionResponse,
  CreatePaymentSessionResponseSchema,
  PaymentSession_Status,
  PaymentSessionService,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { isCurrency } from "../../../platform/money.ts";
import { answerParent, readUsage } from "../../testing/child-process.ts";
import { HandWrittenSessions, type PeerOptions } from "./hand-written-sessions.ts";

type CreateCall = ServerUnaryCall<CreatePaymentSessionRequest, CreatePaymentSessionResponse>;

const createDefinition: MethodDefinition<CreatePaymentSessionRequest, CreatePaymentSessionResponse> = {
  path: `/${PaymentSessionService.typeName}/${PaymentSessionService.method.createPaymentSession.name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: (message) => Buffer.from(toBinary(CreatePaymentSessionRequestSchema, message)),
  requestDeserialize: (bytes) => fromBinary(CreatePaymentSessionRequestSchema, bytes),
  responseSerialize: (message) => Buffer.from(toBinary(CreatePaymentSessionResponseSchema, message)),
  responseDeserialize: (bytes) => fromBinary(CreatePaymentSessionResponseSchema, bytes),
};

function refused(code: status, details: string): Error {
  return Object.assign(new Error(details), { code, details });
}

const emailPattern = /^[^@\p{Cc}]+@[^@\p{Cc}]+$/u;

function isValid({ amountMinor, currency, orderRef, customerEmail }: CreatePaymentSessionRequest): boolean {
  if (amountMinor === undefined || amountMinor < 1n || amountMinor > 999_999_999_999n || !isCurrency(currency))
    return false;
  if (orderRef.trim() === "" || [...orderRef].length > 255 || /\p{Cc}/u.test(orderRef)) return false;
  return customerEmail === undefined || ([...customerEmail].length <= 254 && emailPattern.test(customerEmail));
}

async function createSession(sessions: HandWrittenSessions, { metadata, request }: CreateCall) {
  const merchant = await sessions.findMerchant(metadata.get("authorization")[0]?.toString());
  if (merchant === undefined) throw refused(status.UNAUTHENTICATED, "invalid key");
  const key = metadata.get("idempotency-key")[0]?.toString() ?? "";
  if (!/^[\x20-\x7e]{1,255}$/.test(key) || !isValid(request)) throw refused(status.INVALID_ARGUMENT, "invalid order");
  const { amountMinor, currency, orderRef, customerEmail } = request;
  const order = { amountMinor: Number(amountMinor), currency, orderRef, ...(customerEmail && { customerEmail }) };
  const session = await sessions.create(merchant, order, key);
  if (session === undefined) throw refused(status.FAILED_PRECONDITION, "key reused");
  return create(CreatePaymentSessionResponseSchema, {
    ...session,
    status: PaymentSession_Status.CREATED,
    expiresAt: timestampFromDate(session.expiresAt),
    amountMinor: BigInt(order.amountMinor),
  });
}

answerParent({
  start({ port, ...options }: PeerOptions & { port: number }) {
    const sessions = new HandWrittenSessions(options);
    const server = new Server();
    const handle: handleUnaryCall<CreatePaymentSessionRequest, CreatePaymentSessionResponse> = (call, callback) => {
      createSession(sessions, call).then((answer) => callback(null, answer), callback);
    };
    server.addService({ create: createDefinition }, { create: handle });
    return new Promise<null>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve(null) : reject(error),
      );
    });
  },
  usage: readUsage,
});
