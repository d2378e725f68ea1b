/** The REST peer: Fastify with its own validation and serializer, and hand-written sessions. */
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { v7 } from "uuid";
import { bodyBytesMax } from "../../../limits.ts";
import { encodeId } from "../../../platform/ids.ts";
import { isCurrency } from "../../../platform/money.ts";
import { answerParent, readUsage } from "../../testing/child-process.ts";
import { HandWrittenSessions, type Merchant, type Order, type PeerOptions } from "./hand-written-sessions.ts";

// The rules of payment_session.proto as a Fastify schema.
const orderSchema = {
  type: "object",
  additionalProperties: false,
  required: ["amountMinor", "currency", "orderRef"],
  properties: {
    amountMinor: { type: "integer", minimum: 1, maximum: 999_999_999_999 },
    currency: { type: "string", pattern: "^[A-Z]{3}$" },
    orderRef: { type: "string", minLength: 1, maxLength: 255, pattern: "^\\P{Cc}*$" },
    customerEmail: { type: "string", maxLength: 254, pattern: "^[^@\\p{Cc}]+@[^@\\p{Cc}]+$" },
  },
};

const text = { type: "string" };
const sessionSchema = {
  type: "object",
  properties: {
    sessionId: text,
    clientSecret: text,
    status: text,
    expiresAt: text,
    vault: {
      type: "object",
      properties: {
        mode: text,
        publishableKey: text,
        profileId: text,
        sdkAuthorization: text,
        sdkUrl: text,
        framePolicy: text,
      },
    },
    orderRef: text,
    amountMinor: { type: "integer" },
    currency: text,
  },
};

type Authenticated = FastifyRequest & { merchant: Merchant };

function createServer(sessions: HandWrittenSessions) {
  const app = fastify({
    bodyLimit: bodyBytesMax,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
  });
  app.decorateRequest("merchant");
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "request-id": encodeId("req", v7()), "cache-control": "no-store" });
    const merchant = await sessions.findMerchant(request.headers.authorization);
    if (merchant === undefined) return reply.code(401).send({ code: "invalid_key" });
    (request as Authenticated).merchant = merchant;
  });
  const schema = { body: orderSchema, response: { 201: sessionSchema } };
  app.post("/api/v1/payment-sessions", { schema }, (request, reply) => create(sessions, request, reply));
  return app;
}

async function create(sessions: HandWrittenSessions, request: FastifyRequest, reply: FastifyReply) {
  const order = request.body as Order;
  const key = String(request.headers["idempotency-key"]);
  if (!/^[\x20-\x7e]{1,255}$/.test(key) || !isCurrency(order.currency) || order.orderRef.trim() === "") {
    return reply.code(400).send({ code: "invalid_field" });
  }
  const session = await sessions.create((request as Authenticated).merchant, order, key);
  if (session === undefined) return reply.code(422).send({ code: "idempotency_key_reused" });
  reply.code(201).header("location", `/api/v1/payment-sessions/${session.sessionId}`);
  return { ...session, status: "CREATED", expiresAt: session.expiresAt.toISOString() };
}

answerParent({
  async start({ port, ...options }: PeerOptions & { port: number }) {
    await createServer(new HandWrittenSessions(options)).listen({ port, host: "127.0.0.1" });
    return null;
  },
  usage: readUsage,
});
