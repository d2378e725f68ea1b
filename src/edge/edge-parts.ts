/** The dependencies of the edge's servers, assembled by the composition root. */
import type { IncomingMessage } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { CountedClientOf } from "../platform/client-address.ts";
import type { RequestMeter } from "../platform/request-meter.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { Authenticate } from "./authenticate.ts";
import type { AuthenticationPages } from "./authentication-pages.ts";
import type { EdgeEnvironments } from "./caller.ts";
import type { ErrorStyle } from "./error-mapping.ts";
import type { MerchantNameOf, RecoveryPage } from "./recovery-page.ts";

export type EdgeParts = {
  readonly environments: EdgeEnvironments;
  readonly runtime: Runtime;
  readonly authenticate: Authenticate;
  /** Returns a customer's public address, behind the proxies that the operator trusts. */
  readonly customerAddressOf: (request: IncomingMessage) => string | undefined;
  readonly clientOf: CountedClientOf;
  /** Describes the header with a request's client address, for the doctor. */
  readonly forwardingOf: (request: IncomingMessage) => string;
  /** Origin of the public port as browsers see it. */
  readonly apiOrigin: string;
  readonly style: ErrorStyle;
  /** Reports an unexpected error; the caller sees only `internal` and the request id. */
  readonly reportBug: (error: unknown, requestId: string) => void;
  /** Metrics hooks for the requests of the server; optional. */
  readonly meter?: RequestMeter | undefined;
  readonly meta: { readonly brand: string; readonly version: string; readonly now: () => Date };
  readonly routeCheckout: (router: ConnectRouter) => void;
  /** Services with their own guard, for the internal port: the dashboard's, if no separate process serves them. */
  readonly guestServices: {
    readonly services: readonly DescService[];
    readonly route: (router: ConnectRouter) => void;
  };
  /** The widget's files by path. Without `keep` the path decides how long a browser may cache one. */
  readonly widgetFiles: ReadonlyMap<
    string,
    { readonly contentType: string; readonly bytes: Uint8Array; readonly keep?: "forever" | "never" }
  >;
  readonly authenticationPages: AuthenticationPages;
  readonly recoveryPage: RecoveryPage;
  readonly merchantNameOf: MerchantNameOf;
  /** Reports whether this process accepts traffic; for /readyz and grpc.health.v1. */
  readonly isReady: () => Promise<boolean>;
  /** Aborts when load balancers should send traffic elsewhere; calls are still served. */
  readonly draining: AbortSignal;
  /** Aborts when servers close: callers that only wait for an outcome are answered now. */
  readonly stopping: AbortSignal;
};
