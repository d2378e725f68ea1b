/** What the dashboard's rpcs work on, put together by the composition root. */
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import type { Core } from "../core/core.ts";
import type { EndpointContext } from "../events/endpoints.ts";
import type { Database, Reads } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import type { Mailer } from "../platform/mail.ts";
import type { KeyRing } from "../platform/secrets.ts";

/** One environment as the dashboard needs it. */
export type DashboardEnvironment = {
  readonly name: "test" | "live";
  readonly core: Pick<Core, "sealing" | "connectorOf" | "pageTokenKey" | "timing"> & {
    readonly vault: Pick<Core["vault"], "forwarding">;
  };
  readonly database: Database;
  /** For lists, search and counts of payments, which may be some seconds old. */
  readonly reads: Reads;
  readonly endpoints: EndpointContext;
};

/** What every rpc of the dashboard is built from. */
export type DashboardParts = {
  /** Both in the demo, one in a live installation. */
  readonly environments: Readonly<Partial<Record<"test" | "live", DashboardEnvironment>>>;
  readonly accounts: Database;
  readonly entropy: Entropy;
  readonly brand: string;
  /** Origin of the public port, where gateways send their notices. */
  readonly apiOrigin: string;
  /** Origin of the dashboard as browsers see it, where there is one. */
  readonly dashboardOrigin: string | undefined;
  /** Takes invitations to their addresses; undefined where no mail server is configured. */
  readonly mailer: Pick<Mailer, "send"> | undefined;
  /** Where members sign in; without it operators alone are let in. */
  readonly signIns:
    | {
        /** Seals what authenticator apps share with us. */
        readonly sealing: KeyRing;
        readonly addressOf: (values: ContextValues) => string;
      }
    | undefined;
  /** The id that the server gave the request. */
  readonly requestIdOf: (values: ContextValues) => string;
  /** Any error as the server words it; it reports bugs. */
  readonly toConnectError: (error: unknown, requestId: string) => ConnectError;
};
