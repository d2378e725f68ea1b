/** The service of the straight payment: creates sessions, submits them, and receives SANDBOX_B's notifications. */
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { Pool } from "pg";
import { v7 } from "uuid";
import { signNotification } from "../../../../gateways/adyen/notification-signature.ts";
import { bodyBytesMax, databaseConnectionsMax, idempotencyLifetimeMs, sessionLifetimeMs } from "../../../../limits.ts";
import { isCurrency } from "../../../../platform/money.ts";
import { equalInConstantTime, sha256 } from "../../../../platform/secrets.ts";
import { answerParent, readUsage } from "../../../testing/child-process.ts";
import { StraightCalls } from "./calls.ts";
import type { GatewayAccount } from "./gateways.ts";
import { bearerOf, signText, verifyText } from "./macs.ts";
import { StraightPayments } from "./payments.ts";

/** The options of a start. `notificationKey` has hexadecimal digits. */
export type ServiceOptions = {
  readonly port: number;
  readonly databaseUrl: string;
  readonly vaultOrigin: string;
  readonly sandboxOrigin: string;
  readonly clientKey: string;
  readonly grantKey: string;
  readonly serviceKey: string;
  readonly notificationKey: string;
  readonly accounts: readonly GatewayAccount[];
};

type Order = { readonly amountMinor: number; readonly currency: string; readonly orderRef: string };
type Created = Order & { readonly id: string; readonly expiresAt: Date };
type NotificationItem = Readonly<Record<string, string>> & {
  readonly amount: { readonly value: number; readonly currency: string };
  readonly additionalData: { readonly hmacSignature: string };
};

const selectKey = {
  name: "select_key",
  text: `SELECT merchant_id AS "merchantId" FROM api_key WHERE hash = $1 AND revoked_at IS NULL`,
};
const insertSession = {
  name: "insert_session",
  text: `WITH claimed AS (
      INSERT INTO idempotency AS known (merchant_id, key, request_hash, session_id, expires_at)
      VALUES ($2, $6, $7, $1, now() + $8 * interval '1 ms')
      ON CONFLICT (merchant_id, key) DO UPDATE
        SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id, expires_at = EXCLUDED.expires_at
        WHERE known.expires_at <= now()
      RETURNING session_id)
    INSERT INTO session (id, merchant_id, amount_minor, currency, order_ref, status, created_at, expires_at)
    SELECT $1, $2, $3, $4, $5, 'CREATED', now(), now() + $9 * interval '1 ms' FROM claimed
    RETURNING id, expires_at AS "expiresAt"`,
};
const selectRepeated = {
  name: "select_repeated_session",
  text: `SELECT s.id, s.expires_at AS "expiresAt", i.request_hash AS "requestHash"
    FROM idempotency i JOIN session s ON s.id = i.session_id WHERE i.merchant_id = $1 AND i.key = $2`,
};
const recordNotification = {
  name: "record_notification",
  text: `WITH recorded AS (
      INSERT INTO notification (reference, event_code, body, received_at) VALUES ($1, $2, $3, now())
      ON CONFLICT DO NOTHING RETURNING 1)
    UPDATE session SET capture_confirmed = true FROM attempt
    WHERE $2 = 'CAPTURE' AND $4 AND attempt.id = $5 AND session.id = attempt.session_id AND EXISTS (SELECT FROM recorded)`,
};

const orderSchema = {
  type: "object",
  additionalProperties: false,
  required: ["amountMinor", "currency", "orderRef"],
  properties: {
    amountMinor: { type: "integer", minimum: 1, maximum: 999_999_999_999 },
    currency: { type: "string", pattern: "^[A-Z]{3}$" },
    orderRef: { type: "string", minLength: 1, maxLength: 255, pattern: "^\\P{Cc}*$" },
  },
};
const text = { type: "string" };
const submissionSchema = {
  type: "object",
  additionalProperties: false,
  required: ["sessionId", "vaultToken"],
  properties: {
    sessionId: { type: "string", format: "uuid" },
    vaultToken: { type: "string", pattern: "^tok_[\\w-]{32}$" },
  },
};

class StraightService {
  readonly #options: ServiceOptions;
  readonly #pool: Pool;
  readonly #payments: StraightPayments;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#pool = new Pool({ connectionString: options.databaseUrl, max: databaseConnectionsMax, idleTimeoutMillis: 0 });
    this.#payments = new StraightPayments(this.#pool, new StraightCalls(options), options.accounts);
  }

  async create({ headers, body }: FastifyRequest, reply: FastifyReply) {
    const { rows: keys } = await this.#pool.query({ ...selectKey, values: [sha256(bearerOf(headers.authorization))] });
    if (keys[0] === undefined) return reply.code(401).send({ code: "invalid_key" });
    const key = String(headers["idempotency-key"]);
    const order = body as Order;
    if (!/^[\x20-\x7e]{1,255}$/.test(key) || !isCurrency(order.currency)) {
      return reply.code(400).send({ code: "invalid_field" });
    }
    const created = await this.#insert(keys[0].merchantId, order, key);
    return created === undefined
      ? reply.code(422).send({ code: "idempotency_key_reused" })
      : reply.code(201).send(this.#describe(created));
  }

  async #insert(merchantId: string, order: Order, key: string): Promise<Created | undefined> {
    const { amountMinor, currency, orderRef } = order;
    const hash = sha256(JSON.stringify([amountMinor, currency, orderRef]));
    const values = [v7(), merchantId, amountMinor, currency, orderRef, key, hash, idempotencyLifetimeMs];
    const inserted = await this.#pool.query({ ...insertSession, values: [...values, sessionLifetimeMs] });
    if (inserted.rows[0] !== undefined) return { ...order, ...inserted.rows[0] };
    const { rows } = await this.#pool.query({ ...selectRepeated, values: [merchantId, key] });
    return rows[0] !== undefined && hash.equals(rows[0].requestHash) ? { ...order, ...rows[0] } : undefined;
  }

  #describe({ id, expiresAt, amountMinor, currency, orderRef }: Created) {
    const { clientKey, grantKey, vaultOrigin } = this.#options;
    const sdkAuthorization = signText(grantKey, "grant", `${id}/${expiresAt.getTime()}`);
    const vault = { sdkAuthorization, sdkUrl: `${vaultOrigin}/sdk.js` };
    const clientSecret = signText(clientKey, "client", id);
    return { sessionId: id, clientSecret, status: "CREATED", expiresAt, vault, amountMinor, currency, orderRef };
  }

  async submit({ headers, body }: FastifyRequest, reply: FastifyReply) {
    const { sessionId, vaultToken } = body as { sessionId: string; vaultToken: string };
    if (verifyText(this.#options.clientKey, "client", bearerOf(headers.authorization)) !== sessionId) {
      return reply.code(401).send({ code: "invalid_client_secret" });
    }
    const checkout = await this.#payments.submit(sessionId, vaultToken);
    return checkout === undefined ? reply.code(409).send({ code: "session_ended" }) : { checkout };
  }

  async receiveNotifications({ body }: FastifyRequest, reply: FastifyReply) {
    const { notificationItems } = body as { notificationItems: { NotificationRequestItem: NotificationItem }[] };
    for (const { NotificationRequestItem: item } of notificationItems) {
      if (!this.#isSigned(item)) return reply.code(401).send({ code: "invalid_signature" });
      const { pspReference, eventCode, success, merchantReference } = item;
      const values = [pspReference, eventCode, JSON.stringify(item), success === "true", merchantReference];
      await this.#pool.query({ ...recordNotification, values });
    }
    return "[accepted]";
  }

  #isSigned(item: NotificationItem): boolean {
    const { pspReference, originalReference, merchantAccountCode, merchantReference, eventCode, success } = item;
    const fields = { pspReference, originalReference, merchantAccountCode, merchantReference, eventCode, success };
    const right = signNotification(this.#options.notificationKey, {
      ...(fields as Record<keyof typeof fields, string>),
      ...item.amount,
    });
    return equalInConstantTime(Buffer.from(right), Buffer.from(item.additionalData.hmacSignature));
  }
}

answerParent({
  async start({ port, ...options }: ServiceOptions) {
    const service = new StraightService({ port, ...options });
    const app = fastify({
      bodyLimit: bodyBytesMax,
      keepAliveTimeout: 60_000,
      ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
    });
    app.post("/api/v1/payment-sessions", { schema: { body: orderSchema } }, (request, reply) =>
      service.create(request, reply),
    );
    const checkoutSchema = { type: "object", properties: { sessionId: text, status: text } };
    const answerSchema = { type: "object", properties: { checkout: checkoutSchema } };
    app.post(
      "/payments.v1.CheckoutService/SubmitPayment",
      { schema: { body: submissionSchema, response: { 200: answerSchema } } },
      (request, reply) => service.submit(request, reply),
    );
    app.post("/notifications", (request, reply) => service.receiveNotifications(request, reply));
    await app.listen({ port, host: "127.0.0.1" });
    return null;
  },
  usage: readUsage,
});
