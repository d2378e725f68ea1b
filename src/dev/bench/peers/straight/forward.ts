/** The messages between the straight service and its vault. */
import type { CardSummary } from "../../../../vault/card.ts";
import type { GatewayAccount, GatewayRequest } from "./gateways.ts";

export type ForwardBody = {
  readonly sessionId: string;
  readonly token: string;
  readonly gateway: GatewayAccount["gateway"];
  readonly request: GatewayRequest;
};

export type ForwardAnswer = CardSummary & { readonly status: number; readonly body: string };
