/** A submission, as the edge passes it on to the flow. */
import type { Shopper } from "../gateways/connector.ts";
import type { RequestId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import type { KnownCheckout } from "./core.ts";
import type { Payer } from "./orders/order-winner.ts";
import type { PaymentSession } from "./rows/entities.ts";
import type { Consent } from "./stored-cards/claim-stored.ts";

/**
 * A customer's card token for a session. `signal` fires when the customer's page no longer waits.
 */
export type Submission = {
  readonly session: Omit<KnownCheckout["session"], "expiresAt"> & Partial<Pick<PaymentSession, "namedBy">>;
  readonly vaultToken: Secret;
  readonly signal: AbortSignal;
  /** Id of the API request, for support. */
  readonly requestId?: RequestId | undefined;
  /** The session that has the order, if the merchant refuses repeated orders. */
  readonly payer?: Payer | undefined;
  /** This is sent to the gateways and not stored: a process that takes the session over does not have it. */
  readonly shopper?: Shopper | undefined;
  /** The sentence about storing the card that the customer has agreed to. */
  readonly consent?: Consent | undefined;
  /** The customer's network as limits count it (`CountedClient`); undefined if they count no address. */
  readonly network?: string | undefined;
  /** The settings that allowed the page (`settingsOf`), where the session was not read for this call. */
  readonly settings?: string | undefined;
};
