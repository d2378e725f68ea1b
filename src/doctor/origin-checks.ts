/** Checks the addresses of browsers and roles: reachable, separate, with certificates that last. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls, type DetailedPeerCertificate, type PeerCertificate } from "node:tls";
import type { VaultSettings } from "../card-vault/vault-settings.ts";
import type { Config } from "../config/checked-config.ts";
import { isLoopback } from "../platform/database-address.ts";
import { clockDifferenceMaxMs, examinationTimeoutMs, type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

// Shortest remaining validity of a certificate: they are renewed a month before their end; two weeks before, a person
// has to find out why not.
const certificateDaysMin = 14;

const dayMs = 86_400_000;
const headerSecondMs = 1_000;

/** Examines API, vault and dashboard as browsers see them, and the vault's port for the roles. */
export async function examineOrigins({
  service,
  vault,
  dashboard,
}: Pick<Config, "service" | "vault" | "dashboard">): Promise<Finding[]> {
  const own = ownVaultOf(service);
  const vaultOrigin = own?.origin ?? vault?.publicOrigin;
  const origins = [
    ["SWITCHYARD_API_ORIGIN", service?.apiOrigin, "edge"],
    ["SWITCHYARD_VAULT_ORIGIN", vaultOrigin, "vault"],
    ["SWITCHYARD_DASHBOARD_ORIGIN", dashboard?.origin, "dashboard"],
  ] as const;
  const found = await Promise.all(
    origins.map(([variable, origin, role]) => (origin === undefined ? [] : examineOrigin({ variable, origin, role }))),
  );
  const grpc = own?.grpcAddress ? [await examineVaultPort(own)] : [];
  return [...found.flat(), ...grpc, ...examineHosts(service?.apiOrigin, vaultOrigin)];
}

type OwnVault = Extract<VaultSettings, { readonly mode: "self_hosted" }>;
type Origin = { readonly variable: string; readonly origin: string; readonly role: string };

async function examineOrigin({ variable, origin, role }: Origin): Promise<Finding[]> {
  const area = "origins";
  const remedy = `start the role ${role}, or correct ${variable}, its DNS record or the load balancer`;
  const certificates = origin.startsWith("https:") ? await examineServed(area, variable, origin) : [];
  try {
    const signal = AbortSignal.timeout(examinationTimeoutMs);
    const askedAt = Date.now();
    // A balancer without a server behind it also answers any other path.
    const { ok: isReady, status, headers } = await fetch(`${origin}/readyz`, { signal, redirect: "manual" });
    const next = `start the role ${role}, or fix what ${variable} leads to; see \`database\` above, and the role's log`;
    return [
      isReady
        ? ok(area, `${variable} answers`)
        : problem(area, `${variable} answers but is not ready (${status} at /readyz)`, next),
      ...(role === "vault" && isReady ? examineVaultClock(headers.get("date"), askedAt) : []),
      ...(isReady ? examineForwarding(variable, headers.get("forwarding")) : []),
      ...certificates,
    ];
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return [problem(area, `${variable} does not answer: ${wordsOf(cause)}`, remedy), ...certificates];
  }
}

/** Explains how the role saw this request: limits count the addresses of customers as it did. */
function examineForwarding(variable: string, forwarding: string | null): Finding[] {
  const [header = "", trust] = forwarding?.split("; ") ?? [];
  const isTrusted = trust === "trusted";
  const setting = "SWITCHYARD_TRUSTED_PROXIES";
  const [area, arrived] = ["origins", `${header} arrived at ${variable}`];
  const proxyRemedy = "let the proxy in front set X-Forwarded-For";
  switch (header) {
    case "":
      return [];
    case "x-forwarded-for":
      if (isTrusted) return [ok(area, `${arrived}, from a trusted proxy`)];
      return [
        warning(
          area,
          `${arrived}, from a proxy that ${setting} does not name: limits count its address for every customer, or none`,
          `add the proxy's address or range to ${setting}`,
        ),
      ];
    case "none":
      if (!isTrusted) return [ok(area, `no header with a client's address arrived at ${variable}`)];
      return [warning(area, `a trusted proxy sent no X-Forwarded-For to ${variable}`, proxyRemedy)];
    default:
      return [warning(area, `${arrived}, and is not read`, proxyRemedy)];
  }
}

/**
 * Compares the vault's clock with this machine's, since edge and worker sign for the vault by their own clock. A proxy
 * in front of it may answer with its own.
 */
function examineVaultClock(date: string | null, askedAt: number): Finding[] {
  const [now, answeredAt] = [Date.parse(date ?? ""), Date.now()];
  if (Number.isNaN(now)) return [];
  // The header gives a whole second, and the answer took time to arrive.
  const aheadMs = now > answeredAt ? now - answeredAt : Math.min(0, now + headerSecondMs - askedAt);
  if (Math.abs(aheadMs) <= clockDifferenceMaxMs) {
    return [ok("origins", "the vault's clock and this machine's agree within two seconds")];
  }
  const says = `the vault's clock is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's`;
  const remedy = "run an NTP client on both machines; the vault refuses service tokens by its own clock";
  return [problem("origins", says, remedy)];
}

/** Connects as edge and worker do: over TLS if an authority is set. */
function examineVaultPort({ grpcAddress, grpcTls }: OwnVault): Promise<Finding> {
  const area = "origins";
  const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(grpcAddress) ?? [];
  const where = { host, port: Number(port), timeout: examinationTimeoutMs };
  const failure = (why: string) => {
    const remedy = "start the vault, or correct SWITCHYARD_VAULT_GRPC_ADDRESS; until then no card is accepted";
    return problem(area, `the vault's port for the roles does not answer: ${why}`, remedy);
  };
  const answered = new Promise<Finding>((resolve) => {
    const socket = grpcTls ? connectTls({ ...where, ...tlsOptionsOf(grpcTls, host) }) : connectTcp(where);
    const fail = (why: string) => {
      socket.destroy();
      resolve(failure(why));
    };
    socket.once(grpcTls ? "secureConnect" : "connect", () => {
      socket.destroy();
      resolve(ok(area, `SWITCHYARD_VAULT_GRPC_ADDRESS answers${grpcTls ? " over TLS" : ""}`));
    });
    socket.once("timeout", () => fail("it timed out"));
    socket.once("error", (error) => fail(wordsOf(error)));
  });
  // Files that cannot be used.
  return answered.catch((error: unknown) => failure(wordsOf(error)));
}

function tlsOptionsOf({ caFile, certFile, keyFile }: NonNullable<OwnVault["grpcTls"]>, host: string) {
  const [ca, cert, key] = [caFile, certFile, keyFile].map((path) => path && readFileSync(path));
  // A server name must not be an address (RFC 6066, section 3).
  return { ca, cert, key, ALPNProtocols: ["h2"], ...(isIP(host) === 0 && { servername: host }) };
}

function examineHosts(apiOrigin: string | undefined, vaultOrigin: string | undefined): Finding[] {
  if (!URL.canParse(apiOrigin ?? "") || !URL.canParse(vaultOrigin ?? "")) return [];
  const [api, vault] = [new URL(apiOrigin!).hostname, new URL(vaultOrigin!).hostname];
  // A single machine has one name, and separate ports suffice for the demo.
  if (api !== vault || isLoopback(api)) return [ok("origins", "API and vault are on different hosts")];
  const remedy = "give the vault its own host name: cookies ignore ports, so a script of one could reach the other";
  return [problem("origins", `API and vault are on one host, ${api}`, remedy)];
}

async function examineServed(area: string, variable: string, origin: string): Promise<Finding[]> {
  const { hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  // A server name must not be an address (RFC 6066, section 3).
  const name = isIP(host) === 0 ? { servername: host } : {};
  return new Promise((resolve) => {
    const options = { host, port: Number(port) || 443, ...name, timeout: examinationTimeoutMs };
    const socket = connectTls({ ...options, rejectUnauthorized: false }, () => {
      const certificate: PeerCertificate | DetailedPeerCertificate = socket.getPeerCertificate();
      const reason = socket.authorized ? undefined : wordsOf(socket.authorizationError);
      socket.destroy();
      resolve([explainEnd(area, variable, new Date(certificate.valid_to)), ...explainDistrust(area, variable, reason)]);
    });
    socket.once("timeout", () => socket.destroy(new Error("it timed out")));
    // Already reported when the origin is fetched.
    socket.once("error", () => resolve([]));
  });
}

function explainDistrust(area: string, variable: string, reason: string | undefined): Finding[] {
  if (reason === undefined || reason === "CERT_HAS_EXPIRED") return [];
  const remedy = "serve the whole chain, for this host name, of an authority that browsers trust";
  return [problem(area, `the certificate at ${variable} is not trusted here: ${reason}`, remedy)];
}

function explainEnd(area: string, what: string, endsAt: Date): Finding {
  const days = Math.floor((endsAt.getTime() - Date.now()) / dayMs);
  const remedy = "renew it, and find out why automatic renewal failed";
  if (days < 0) return problem(area, `the certificate of ${what} has expired (${endsAt.toISOString()})`, remedy);
  const says = `the certificate of ${what} is valid for ${days} more days`;
  return days < certificateDaysMin ? warning(area, says, remedy) : ok(area, says);
}

/** Checks the certificates in our own files: of the gRPC ports, and for NATS and the vault. */
export function examineCertificateFiles({ service, vault }: Pick<Config, "service" | "vault">): Finding[] {
  const nats = (service?.environments ?? []).flatMap(({ name, nats: { tls } }) => {
    const prefix = `SWITCHYARD_${name.toUpperCase()}_NATS_TLS`;
    return [
      [`${prefix}_CA_FILE`, tls?.caFile],
      [`${prefix}_CERT_FILE`, tls?.certFile],
    ] as const;
  });
  const files = [
    ["SWITCHYARD_GRPC_TLS_CERT_FILE", service?.grpcTls?.certFile],
    ["SWITCHYARD_GRPC_TLS_CLIENT_CA_FILE", service?.grpcTls?.clientCaFile],
    ...vaultCertificateFiles(service),
    ["SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE", vault?.grpcTls?.certFile],
    ["SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CA_FILE", vault?.grpcTls?.clientCaFile],
    ...nats,
  ] as const;
  return files.flatMap(([variable, file]) => (file === undefined ? [] : [examineFile(variable, file)]));
}

function vaultCertificateFiles(service: Config["service"]) {
  const own = ownVaultOf(service);
  return [
    ["SWITCHYARD_VAULT_GRPC_TLS_CA_FILE", own?.grpcTls?.caFile],
    ["SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE", own?.grpcTls?.certFile],
  ] as const;
}

/** Returns the vault of both environments; undefined if both use an external one. */
function ownVaultOf(service: Config["service"]): OwnVault | undefined {
  const vaults = (service?.environments ?? []).map(({ vault }) => vault);
  return vaults.find((vault): vault is OwnVault => vault?.mode === "self_hosted");
}

function examineFile(variable: string, file: string): Finding {
  try {
    return explainEnd("certificates", variable, new Date(new X509Certificate(readFileSync(file)).validTo));
  } catch (error) {
    const remedy = `set ${variable} to a certificate in PEM that this user can read`;
    return problem("certificates", `${variable} cannot be read: ${wordsOf(error)}`, remedy);
  }
}
