/** The vault of the straight payment: seals cards, and sends an authorization with one use of a token. */
import { randomBytes } from "node:crypto";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { Pool } from "pg";
import { Agent, request as send } from "undici";
import { databaseConnectionsMax } from "../../../../limits.ts";
import { type KeyRing, seal, sha256, unseal } from "../../../../platform/secrets.ts";
import { type Card, findCardProblems, shownOf } from "../../../../vault/card.ts";
import { answerParent, readUsage } from "../../../testing/child-process.ts";
import type { ForwardAnswer, ForwardBody } from "./forward.ts";
import { gateways } from "./gateways.ts";
import { bearerOf, verifyText } from "./macs.ts";

/** The options of a start. `sealingKey` has 32 bytes in base64. */
export type VaultOptions = {
  readonly port: number;
  readonly databaseUrl: string;
  readonly sandboxOrigin: string;
  readonly grantKey: string;
  readonly serviceKey: string;
  readonly sealingKey: string;
};

const tokenBytes = 24;
const cardLifetimeMs = 15 * 60_000;
const usesOfToken = 5;
const gatewayTimeoutMs = 10_000;

const keepCard = {
  name: "keep_card",
  text: `INSERT INTO card (token_hash, session_id, sealed, uses_left, expires_at)
    VALUES ($1, $2, $3, $4, now() + $5 * interval '1 ms')`,
};
const takeCard = {
  name: "take_card",
  text: `UPDATE card SET uses_left = uses_left - 1
    WHERE token_hash = $1 AND session_id = $2 AND uses_left > 0 AND expires_at > now() RETURNING sealed`,
};
const forgetCards = { name: "forget_cards", text: "DELETE FROM card WHERE session_id = $1" };

const text = { type: "string" };
const cardSchema = {
  type: "object",
  additionalProperties: false,
  required: ["number", "expMonth", "expYear", "cvc"],
  properties: {
    number: { type: "string", pattern: "^[0-9]{12,19}$" },
    expMonth: { type: "integer", minimum: 1, maximum: 12 },
    expYear: { type: "integer", minimum: 2000, maximum: 2100 },
    cvc: { type: "string", pattern: "^[0-9]{3,4}$" },
  },
};
const forwardSchema = {
  type: "object",
  required: ["sessionId", "token", "gateway", "request"],
  properties: {
    sessionId: text,
    token: text,
    gateway: { type: "string", enum: Object.keys(gateways) },
    request: {
      type: "object",
      required: ["path", "headers", "body"],
      properties: { path: text, headers: { type: "object", additionalProperties: text }, body: text },
    },
  },
};

class CardVault {
  readonly #options: VaultOptions;
  readonly #pool: Pool;
  readonly #ring: KeyRing;
  readonly #agent = new Agent();

  constructor(options: VaultOptions) {
    this.#options = options;
    this.#pool = new Pool({ connectionString: options.databaseUrl, max: databaseConnectionsMax, idleTimeoutMillis: 0 });
    this.#ring = { current: "k1", keys: { k1: Buffer.from(options.sealingKey, "base64") } };
  }

  async tokenize(request: FastifyRequest, reply: FastifyReply) {
    const grant = verifyText(this.#options.grantKey, "grant", bearerOf(request.headers.authorization));
    const [sessionId, expiresAt] = grant?.split("/") ?? [];
    if (sessionId === undefined || Number(expiresAt) < Date.now())
      return reply.code(401).send({ code: "invalid_grant" });
    const card = request.body as Card;
    if (findCardProblems(card, new Date()).length > 0) return reply.code(400).send({ code: "invalid_card" });
    const token = `tok_${randomBytes(tokenBytes).toString("base64url")}`;
    const sealed = Buffer.from(seal(this.#ring, sessionId, JSON.stringify(card)));
    await this.#pool.query({ ...keepCard, values: [sha256(token), sessionId, sealed, usesOfToken, cardLifetimeMs] });
    return reply.code(201).send({ token, ...shownOf(card) });
  }

  async forward(request: FastifyRequest, reply: FastifyReply): Promise<ForwardAnswer | undefined> {
    if (!this.#isService(request)) return reply.code(401).send({ code: "invalid_caller" });
    const { sessionId, token, gateway, request: asked } = request.body as ForwardBody;
    const { rows } = await this.#pool.query<{ sealed: Buffer }>({ ...takeCard, values: [sha256(token), sessionId] });
    if (rows[0] === undefined) return reply.code(404).send({ code: "no_card" });
    const card = JSON.parse(unseal(this.#ring, sessionId, rows[0].sealed.toString()).expose()) as Card;
    const answer = await send(this.#options.sandboxOrigin + asked.path, {
      dispatcher: this.#agent,
      method: "POST",
      headers: asked.headers,
      body: gateways[gateway].fill(asked.body, card),
      signal: AbortSignal.timeout(gatewayTimeoutMs),
    });
    const body = (await answer.body.text()).replaceAll(card.number, "****");
    return { status: answer.statusCode, body, ...shownOf(card) };
  }

  async forget(request: FastifyRequest, reply: FastifyReply) {
    if (!this.#isService(request)) return reply.code(401).send({ code: "invalid_caller" });
    await this.#pool.query({ ...forgetCards, values: [(request.body as { sessionId: string }).sessionId] });
    return reply.code(204).send();
  }

  #isService(request: FastifyRequest): boolean {
    const until = verifyText(this.#options.serviceKey, "service", bearerOf(request.headers.authorization));
    return Number(until ?? 0) > Date.now();
  }
}

answerParent({
  async start({ port, ...options }: VaultOptions) {
    const vault = new CardVault({ port, ...options });
    const app = fastify({ keepAliveTimeout: 60_000, ajv: { customOptions: { coerceTypes: false } } });
    app.post("/tokens", { schema: { body: cardSchema } }, (request, reply) => vault.tokenize(request, reply));
    app.post("/forward", { schema: { body: forwardSchema } }, (request, reply) => vault.forward(request, reply));
    const forgetSchema = { type: "object", required: ["sessionId"], properties: { sessionId: text } };
    app.post("/forget", { schema: { body: forgetSchema } }, (request, reply) => vault.forget(request, reply));
    await app.listen({ port, host: "127.0.0.1" });
    return null;
  },
  usage: readUsage,
});
