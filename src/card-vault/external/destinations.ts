/** The requests that may carry a card through the external vault. Pure. */
import { type JsonDestination, jsonDestinations } from "../../platform/json-destinations.ts";
import type { EnvironmentName } from "../../platform/signed-claims.ts";

/**
 * An operation of a gateway, by JSON. The external vault sends any request to any address it is given; our own vault's
 * checks are made here.
 */
export type ProxyDestination = JsonDestination;

/** Returns the row of an operation; undefined if this request cannot be sent through the external vault. */
export function findProxyDestination(wanted: { connector: string; operation: string }): ProxyDestination | undefined {
  return jsonDestinations.find((row) => row.connector === wanted.connector && row.operation === wanted.operation);
}

export type ProxyAddressRequest = {
  readonly environment: EnvironmentName;
  readonly origin: string;
  readonly pathVariables: Readonly<Record<string, string>>;
  /** Hosts, with port, that replace a gateway in test. */
  readonly emulatorHosts: readonly string[];
};

/** Returns the full address of a request; undefined if the row does not allow the host or the path does not fit. */
export function proxyAddressOf(row: ProxyDestination, request: ProxyAddressRequest): string | undefined {
  const url = URL.canParse(request.origin) ? new URL(request.origin) : undefined;
  if (url === undefined || url.origin !== request.origin || !isHostAllowed(row, request, url)) return undefined;
  const path = fillPath(row.path, request.pathVariables);
  return path === undefined ? undefined : url.origin + path;
}

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

function isHostAllowed(row: ProxyDestination, { environment, emulatorHosts }: ProxyAddressRequest, url: URL): boolean {
  if (environment === "test" && emulatorHosts.includes(url.host)) return true;
  if (row.hosts === "sandbox") return environment === "test" && loopbackNames.has(url.hostname);
  return url.protocol === "https:" && url.port === "" && row.hosts[environment]?.test(url.hostname) === true;
}

/** Returns the path with its variables, each one segment of plain letters; undefined if one is missing or is not. */
function fillPath(template: string, variables: Readonly<Record<string, string>>): string | undefined {
  let fits = true;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? (variables[name] ?? "") : "";
    fits &&= /^[A-Za-z0-9_-]{1,128}$/.test(value);
    return value;
  });
  return fits ? path : undefined;
}
