/** The dependencies of the dashboard's rpcs, assembled by the composition root. */
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import type { CallingServices } from "../accounts/services-file.ts";
import type { Core } from "../core/core.ts";
import type { EndpointContext } from "../events/endpoints.ts";
import type { EmulatorOrigins } from "../gateways/gateway-origins.ts";
import type { Database, Queryable, Reads } from "../platform/database.ts";
import type { Mailer } from "../platform/mail.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { IdentityProviders } from "./company-sign-in/identity-providers.ts";

export type DashboardEnvironment = {
  readonly name: "test" | "live";
  readonly cell: number;
  /** Every cell of the environment, this one included; undefined if there is only one. */
  readonly cells?: ReadonlyMap<number, DashboardEnvironment> | undefined;
  readonly core: Pick<
    Core,
    | "sealing"
    | "connectorOf"
    | "bind"
    | "tracing"
    | "providerOf"
    | "pageTokenKey"
    | "timing"
    | "runtime"
    | "outbox"
    | "describeSession"
    | "observer"
  > & {
    readonly vault: Pick<Core["vault"], "forwarding" | "forget" | "walletKeys">;
    readonly log: Pick<Core["log"], "error">;
  };
  /** Read-only use; every change goes through the call's `RpcContext`, which checks the caller's right again. */
  readonly database: Queryable;
  /** Serves lists, search and counts of payments; may lag by some seconds. */
  readonly reads: Reads;
  readonly endpoints: Omit<EndpointContext, "database">;
};

type ServedEnvironment = Omit<DashboardEnvironment, "cells"> & {
  readonly database: Database;
  readonly cells?: ReadonlyMap<number, ServedEnvironment> | undefined;
};

/** The parts as the composition root has them. Only guard and `RpcContext` use its databases. */
export type ServedParts = DashboardParts & {
  readonly environments: Readonly<Partial<Record<"test" | "live", ServedEnvironment>>>;
  readonly accounts: Database;
  /** The entry of internal services. */
  readonly services?: CallingServices;
};

export type DashboardParts = {
  /** Both in the demo, one in a live installation, each by its first cell. */
  readonly environments: Readonly<Partial<Record<"test" | "live", DashboardEnvironment>>>;
  /** Read-only use, like the environments' databases. */
  readonly accounts: Queryable;
  readonly runtime: Runtime;
  readonly brand: string;
  /** Origin of the public port, where gateways send their notifications. */
  readonly apiOrigin: string;
  readonly emulatorOrigins: Readonly<Record<"test" | "live", EmulatorOrigins>>;
  /** Origin of the dashboard as browsers see it, if there is one. */
  readonly dashboardOrigin: string | undefined;
  /** Mails invitations; undefined if no mail server is configured. */
  readonly mailer: Pick<Mailer, "send"> | undefined;
  /** Member sign-in; if undefined, only operators are admitted. */
  readonly signIns:
    | {
        /** Seals the secrets shared with authenticator apps. */
        readonly sealing: KeyRing;
        readonly addressOf: (values: ContextValues) => string;
        /** The operator's setting; it has an effect only if live is served. */
        readonly requiresSecondFactor: boolean;
        /** The identity providers of companies whose people sign in by their own accounts. */
        readonly identityProviders: IdentityProviders;
      }
    | undefined;
  readonly requestIdOf: (values: ContextValues) => string;
  /** Converts any error to the server's public form, and reports bugs. */
  readonly toConnectError: (error: unknown, requestId: string) => ConnectError;
};

/** Reports whether sign-ins need a second factor for live, and for what live and test share. */
export function isSecondFactorRequired({ signIns, environments }: DashboardParts): boolean {
  return signIns?.requiresSecondFactor === true && environments.live !== undefined;
}
