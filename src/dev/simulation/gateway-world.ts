/** The messages that connectors send in a run, and the world that receives them. */
import type { Unknown } from "../../gateways/connector.ts";
import type { Declined } from "../../gateways/declines.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";

export type Sent =
  | {
      readonly type: "authorize";
      readonly attemptReference: string;
      readonly sessionId: string;
      /** True if it has a proof of an authentication that no bank has granted. */
      readonly isForged: boolean;
    }
  | { readonly type: "complete" | "ask"; readonly attemptReference: string }
  | { readonly type: "capture"; readonly attemptReference: string; readonly gatewayReference: string }
  | {
      readonly type: "void" | "lookUp" | "readRefunds" | "readDisputes" | "readStatements";
      readonly attemptReference: string;
    }
  | { readonly type: "answerDispute"; readonly attemptReference: ""; readonly responseReference: string }
  | {
      readonly type: "refund";
      readonly attemptReference: string;
      readonly refundReference: string;
      readonly key: string;
      /** True if it has the credentials of before their rotation. */
      readonly isFirstVersion: boolean;
      /** True if the disputes of its payment can be read. */
      readonly readsDisputes: boolean;
    };

export type GatewayWorld = {
  gatewayOf(connectionId: string): SimulatedGateway;
  onSent(sent: Sent): void;
  /** Reports whether the answer to this request is lost. */
  isUnheard(sent: Sent): boolean;
  /** Executes an authorize again hours later, in runs that do. */
  authorizeAgain(execute: () => void): void;
  /** Counts captures that were sent and not yet executed or lost. */
  captureOnItsWay(gatewayReference: string, change: 1 | -1): void;
  onExecuted(): void;
  /** True if the run's bank grants exemptions. */
  readonly grantsExemptions: boolean;
  /** Reports whether a proof is of an authentication that the run's bank granted. */
  isProof(cryptogram: string): boolean;
  /** Returns the decline of an attempt by every gateway: a card tester's, or of a card that its bank has stopped. */
  declineOf(attemptReference: string): Declined | undefined;
};

export type ExchangeResult<Reply> =
  | { readonly type: "reply"; readonly reply: Reply }
  | { readonly type: "refused" }
  | Unknown;

export type Exchange<Reply> = {
  readonly sent: Sent;
  readonly timeoutMs: number;
  /** Time that the gateway may take to execute it after our timeout. */
  readonly lateMs: number;
  readonly execute: () => Reply;
};
