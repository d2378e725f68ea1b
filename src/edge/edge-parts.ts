/** What the edge's servers are made from, put together by the composition root. */
import type { IncomingMessage } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Entropy } from "../platform/entropy.ts";
import type { RequestMeter } from "../platform/request-meter.ts";
import type { Authenticate } from "./authenticate.ts";
import type { EdgeEnvironments } from "./caller.ts";
import type { ErrorStyle } from "./error-mapping.ts";
import type { ReportBug } from "./rpc-guard.ts";

/** Everything that both of the edge's ports work with. */
export type EdgeParts = {
  readonly environments: EdgeEnvironments;
  readonly entropy: Entropy;
  readonly authenticate: Authenticate;
  /** A customer's public address, behind the proxies that the operator trusts. */
  readonly customerAddressOf: (request: IncomingMessage) => string | undefined;
  readonly style: ErrorStyle;
  readonly reportBug: ReportBug;
  /** Told of the requests of the server that these parts make; without it nobody counts them. */
  readonly meter?: RequestMeter | undefined;
  readonly meta: { readonly brand: string; readonly version: string; readonly now: () => Date };
  /** Adds CheckoutService, which is served to browsers and to internal services alike. */
  readonly routeCheckout: (router: ConnectRouter) => void;
  /** Services that guard themselves, for the internal port: the dashboard's, where no role of its own has them. */
  readonly guestServices: {
    readonly services: readonly DescService[];
    readonly route: (router: ConnectRouter) => void;
  };
  /** The widget's files by path. Without `keep` the path says how long a browser may have one. */
  readonly widgetFiles: ReadonlyMap<
    string,
    { readonly contentType: string; readonly bytes: Uint8Array; readonly keep?: "forever" | "never" }
  >;
  /** Whether this process wants traffic; for /readyz and grpc.health.v1. */
  readonly isReady: () => Promise<boolean>;
  /** Aborts when balancers are to look elsewhere; calls are still served. */
  readonly draining: AbortSignal;
  /** Aborts when servers close: whoever only waits for an outcome is answered now. */
  readonly stopping: AbortSignal;
};
