/** The core's client of our own vault: Forward for connectors, Forget when a session has ended. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ChannelCredentials, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { type ForwardResponse, NeverSent_Reason, VaultService } from "../../gen/vault/v1/vault_pb.ts";
import type { CardForwarder, ForwardReply, ForwardRequest } from "../gateways/card-forwarder.ts";
import type { GatewayReply } from "../gateways/gateway-http.ts";
import type { VaultTlsPaths } from "../gateways/vault-settings.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { type SigningKey, signServiceToken } from "../platform/service-token-signing.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { createGrpcClient, type GrpcClient } from "./grpc-client.ts";

// What the vault and the way to it may take beside the gateway.
const ownTimeMs = 2_000;
// A vault that restarts is back within a second or two; a payment may wait as long, one of many vaults answers at once.
const connectWaitMs = 2_000;
const forgetTimeoutMs = 5_000;

/** One environment's way to the vault, with a fresh service token for every call. */
export class VaultClient implements CardForwarder {
  readonly #client: GrpcClient<typeof VaultService>;
  readonly #signing: SigningKey;
  readonly #log: Logger;
  readonly #tracing: Tracing;

  /** Throws when files of `tls` cannot be used; without it everything is said in the clear. */
  constructor(options: {
    address: string;
    signing: SigningKey;
    log: Logger;
    tls?: VaultTlsPaths | undefined;
    tracing?: Tracing | undefined;
  }) {
    this.#tracing = options.tracing ?? untraced;
    this.#client = createGrpcClient(VaultService, options.address, channelOf(options.tls));
    this.#signing = options.signing;
    this.#log = options.log;
  }

  forward(request: ForwardRequest): Promise<ForwardReply> {
    const facts = () => ({ gateway: request.connector, operation: request.operation });
    const of = { traceparent: this.#tracing.outgoing() };
    return this.#tracing.span("vault.call", { of, facts, kind: "client" }, () => this.#forward(request));
  }

  async #forward(request: ForwardRequest): Promise<ForwardReply> {
    const { token, body, signal, ...rest } = request;
    // Asked before the call is made, because afterwards nobody can tell a call that never left from one that was lost.
    if (!(await this.#client.isConnected(connectWaitMs))) {
      return { reply: { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } };
    }
    try {
      const answer = await this.#client.forward(
        { ...rest, token: token.expose(), body: new TextEncoder().encode(body) },
        { timeoutMs: request.timeoutMs + ownTimeMs, metadata: await this.#metadata(), signal },
      );
      const card = answer.brand === "" ? undefined : { brand: answer.brand, last4: answer.last4 };
      return { reply: replyOf(answer), card };
    } catch (error) {
      return { reply: replyWithoutAnswer(error as ServiceError) };
    }
  }

  /** Has every card of a session deleted; the vault does so by itself after 15 minutes, so a failure is only logged. */
  forget(sessionId: string): void {
    this.#metadata()
      .then((metadata) =>
        this.#client.forget({ sessionId: encodeId("ps", sessionId) }, { timeoutMs: forgetTimeoutMs, metadata }),
      )
      .catch((error: unknown) => this.#log.warn({ err: error, sessionId }, "the vault was not told to forget a card"));
  }

  close(): void {
    this.#client.close();
  }

  async #metadata(): Promise<Record<string, string>> {
    const traceparent = this.#tracing.outgoing();
    const authorization = `Bearer ${signServiceToken(this.#signing)}`;
    return { authorization, ...(traceparent !== undefined && { traceparent }) };
  }
}

function channelOf(tls: VaultTlsPaths | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const authorities = readFileSync(tls.caFile);
  // A file that holds no certificate would be taken for nobody's authority, and every payment would fail.
  new X509Certificate(authorities);
  const [key, cert] = [tls.keyFile, tls.certFile].map((path) => (path === undefined ? null : readFileSync(path)));
  return credentials.createSsl(authorities, key, cert);
}

function replyOf(answer: ForwardResponse): GatewayReply {
  switch (answer.result.case) {
    case "answer": {
      const { status: httpStatus, headers, body } = answer.result.value;
      return { type: "answer", status: httpStatus, headers, body };
    }
    case "neverSent": {
      const { reason, detail } = answer.result.value;
      const refused = reason === NeverSent_Reason.CONNECTION_REFUSED;
      return { type: "neverSent", cause: refused ? "connection_refused" : "token_unusable", reason: detail };
    }
    case "noAnswer":
      return { type: "noAnswer", timedOut: answer.result.value.timedOut, reason: answer.result.value.detail };
    case undefined:
      return { type: "noAnswer", timedOut: false, lostAtVault: true, reason: "the vault's answer is not one we know" };
  }
}

/**
 * Without the vault's answer, only a refusal that it documents to come before sending counts as never sent. Otherwise the
 * gateway may have been asked, and what it answered is lost with the vault.
 */
function replyWithoutAnswer(error: ServiceError): GatewayReply {
  switch (error.code) {
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      return { type: "neverSent", cause: "vault_unavailable", reason: "the vault refused our service token" };
    case status.INVALID_ARGUMENT:
      return {
        type: "neverSent",
        cause: "request_refused",
        reason: "the vault's destination table refused the request",
      };
    case status.DEADLINE_EXCEEDED:
      return { type: "noAnswer", timedOut: true, lostAtVault: true, reason: "the vault did not answer in time" };
    default:
      return { type: "noAnswer", timedOut: false, lostAtVault: true, reason: "the connection to the vault broke" };
  }
}
