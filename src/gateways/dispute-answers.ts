/** Answers to disputes: what a gateway takes, how it is sent, and what the gateway made of it. */
import type { GatewayReply } from "../platform/outbound-http.ts";
import type { DisputeStage } from "./dispute-readings.ts";

/** A dispute as its gateway knows it. */
export type DisputeAtGateway = { readonly gatewayReference: string; readonly stage: DisputeStage };

/** A defense, with the types of documents that it takes. Without a code where the gateway has one defense only. */
export type Defense = {
  readonly code?: string | undefined;
  readonly documentTypes: readonly { readonly type: string; readonly required: boolean }[];
};

/** The responses that the gateway accepts now; without defenses, no evidence. */
export type ResponseOptions = { readonly accept: boolean; readonly defenses: readonly Defense[] };

export type Shipping = {
  readonly carrier: string;
  readonly trackingNumber: string;
  /** In the form year-month-day. */
  readonly shippedOn: string;
};

type EvidenceDocument = {
  readonly type: string;
  readonly name: string;
  readonly contentType: string;
  readonly content: Uint8Array;
};

export type Evidence = {
  readonly defense?: string | undefined;
  /** Sent only to a gateway that has a field for it. */
  readonly explanation?: string | undefined;
  readonly shipping?: Shipping | undefined;
  readonly documents: readonly EvidenceDocument[];
  /** The gateway's references of the refunds that had paid the money back. */
  readonly refundReferences: readonly string[];
};

/** `refused`: it has no effect. `unknown`: it may have one, and is repeated with the same key after a look-up. */
export type ResponseAnswer =
  | { readonly type: "taken" }
  | { readonly type: "refused"; readonly gatewayCode: string }
  | { readonly type: "unknown"; readonly reason: string };

/** Interprets an answer that is none, or proves nothing. */
export function unknownAnswer(reply: GatewayReply): ResponseAnswer {
  const reason = reply.type === "answer" ? `the answer proves nothing (HTTP ${reply.status})` : reply.reason;
  return { type: "unknown", reason };
}
