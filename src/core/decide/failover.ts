/** A failed attempt, and the decision about what follows it. Types only. */
import type {
  AuthenticationRule,
  FailoverSwitch,
  FailureKind,
  PlannedConnection,
  PlannedProvider,
  Refusal,
  Stop,
} from "../rows/entities.ts";
import type { NoCard } from "./because.ts";

/** The decision after a failed attempt, with the sentence that the attempt trail shows. */
export type FailoverDecision =
  | {
      readonly action: "authenticate";
      readonly to: PlannedConnection;
      readonly because: string;
      readonly round: 1;
      /** Authenticates before the repeat; absent if the gateway does so itself. */
      readonly provider?: PlannedProvider | undefined;
    }
  | {
      readonly action: "failover";
      readonly to: PlannedConnection;
      readonly because: string;
      /** A separate step opens the next attempt, from the rows of that moment. */
      readonly opensLater?: true | undefined;
    }
  | {
      readonly action: "retry";
      readonly to: PlannedConnection;
      readonly because: string;
      readonly round: 2;
    }
  | { readonly action: "stop"; readonly because: string };

/** The parts of an attempt's failure that failover depends on. */
export type Failure = {
  readonly gateway: string;
  readonly kind: FailureKind;
  readonly stop?: Stop | undefined;
  readonly noCard?: NoCard | undefined;
  /** Why the gateway processed nothing, and its own code. */
  readonly refusal?: Refusal | undefined;
  readonly gatewayCode?: string | undefined;
  /** True when the gateway held the amount but refused to capture it. */
  readonly captureRefused?: boolean | undefined;
  /** True when the gateway may have acted: its answer is missing, or not believed. */
  readonly mayHaveActed?: boolean | undefined;
  /** The connection at which the request can be repeated with authentication. */
  readonly repeat?: PlannedConnection | undefined;
  /** The provider that authenticates before that. */
  readonly provider?: PlannedProvider | undefined;
  /** The connection that declined and allows an immediate repeat. */
  readonly again?: PlannedConnection | undefined;
};

/** The merchant's settings for failover, and for authentication; without the latter it is as needed. */
export type FailoverRule = {
  readonly version: number;
  readonly failoverOn: readonly FailoverSwitch[];
  readonly authentication?: AuthenticationRule | undefined;
  /** True if a gateway that allows it gets a payment that it declined once more. The default is false. */
  readonly retriesSameGateway?: boolean | undefined;
};
