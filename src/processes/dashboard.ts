/** COMPOSITION ROOT of the dashboard's role: its page and its RPCs on a separate port. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { ContextValues } from "@connectrpc/connect";
import { parseIdentityProviders } from "../accounts/identity-providers-file.ts";
import { sweepSignInsOnce } from "../accounts/sweep-sign-ins.ts";
import type { DashboardSettings } from "../config/dashboard-settings.ts";
import { createCompanyDoor } from "../dashboard/company-sign-in/door.ts";
import { IdentityProviders } from "../dashboard/company-sign-in/identity-providers.ts";
import { createDashboardServer } from "../dashboard/dashboard-server.ts";
import { requestFactsKey } from "../dashboard/request-facts.ts";
import { createDashboardRoutes } from "../dashboard/routes.ts";
import { dashboardServices } from "../dashboard/service-list.ts";
import { bundlePage } from "../dashboard/ui/bundle.ts";
import { renderError, toDomainError } from "../edge/error-mapping.ts";
import { internalConnections } from "../limits.ts";
import { createClientAddressOf } from "../platform/client-address.ts";
import { HttpDrain } from "../platform/http-server.ts";
import { runLoop } from "../platform/loop.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { Readiness } from "../platform/readiness.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { WatchedFile } from "../platform/watched-file.ts";
import { dashboardParts, databasesAnswer, type Installation, type Running } from "./installation.ts";

// Interval at which expired rows are removed.
const signInSweepEveryMs = 10 * 60_000;

// It has many services and more RPCs: the service is enough to identify a slow page.
const dashboardRoutes = [...dashboardServices.map(({ name }) => name), "SignInService", "page", "probe"];

function providersOf({ log }: Installation, { identityProvidersFile }: DashboardSettings) {
  if (identityProvidersFile === undefined) return undefined;
  return new WatchedFile(identityProvidersFile, {
    parse: parseIdentityProviders,
    onBroken: (error) => log.error({ err: error }, "the file of identity providers cannot be used"),
  });
}

/** Serves the dashboard. Rejects when the port is taken. */
export async function startDashboard(installation: Installation, settings: DashboardSettings): Promise<Running> {
  const { config, log } = installation;
  const readiness = new Readiness(() => databasesAnswer(installation));
  const { sealing, origin, port, requiresSecondFactor } = settings;
  const providers = providersOf(installation, settings);
  const stopReading = providers?.renew();
  const http = new GatewayHttp();
  const identityProviders = new IdentityProviders(() => providers?.entries ?? [], http);
  const addressOf = (values: ContextValues) => values.get(requestFactsKey).address;
  const signIns = { sealing, addressOf, requiresSecondFactor, identityProviders };
  const parts = { ...dashboardParts(installation), dashboardOrigin: origin, signIns };
  const route = createDashboardRoutes({ ...parts, requestIdOf: (values) => values.get(requestFactsKey).requestId });
  const server = createDashboardServer({
    runtime: systemRuntime,
    origin,
    route,
    files: await bundlePage(),
    addressOf: createClientAddressOf(config.trustedProxies),
    companyDoor: createCompanyDoor({
      ...parts,
      onRefusal: (error, requestId) => log.warn({ err: error, requestId }, "an identity provider's answer was refused"),
    }),
    isReady: () => readiness.isReady(),
    meter: installation.metrics.meterOf("dashboard", dashboardRoutes),
    renderError: (error, requestId) => {
      const domainError = toDomainError(error);
      if (domainError.code === "internal")
        log.error({ err: error, requestId }, "a dashboard request failed with an unexpected error");
      return renderError({ brand: config.brand, errorDocsUrl: config.errorDocsUrl }, domainError, requestId);
    },
  });
  const ending = new HttpDrain(server);
  server.listen(port, config.service.host);
  await Promise.race([once(server, "listening"), once(server, "error").then(([error]) => Promise.reject(error))]);
  installation.metrics.showPort("dashboard", { isReady: () => readiness.isReady() });
  const sweep = runLoop({
    name: "sign-in-sweep",
    intervalMs: signInSweepEveryMs,
    log,
    turn: () => sweepSignInsOnce(installation.accounts),
    observer: installation.metrics.observeLoop("accounts", "sign-in-sweep", signInSweepEveryMs),
  });
  return {
    async close() {
      readiness.drain();
      ending.begin();
      await Promise.all([sweep.close(), pause(config.service.shutdownGraceMs)]);
      readiness.stop();
      stopReading?.();
      await ending.close(internalConnections.closeWithinMs);
      await http.close();
    },
  };
}
