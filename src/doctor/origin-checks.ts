/** Whether the addresses that browsers and roles use lead somewhere, apart from each other, and with certificates that last. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls, type DetailedPeerCertificate, type PeerCertificate } from "node:tls";
import type { Config } from "../config.ts";
import type { VaultSettings } from "../gateways/vault-settings.ts";
import { certificateDaysLeast, examinationTimeoutMs } from "../limits/doctor.ts";
import { isLoopback } from "../platform/database-address.ts";
import { type Finding, ok, problem, warning, wordsOf } from "./finding.ts";

const dayMs = 86_400_000;

/** API, vault and dashboard as browsers see them, and the vault's port for the roles. */
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
  const remedy = `start the role ${role}, or mend ${variable}, the name's address or the balancer before it`;
  const certificates = origin.startsWith("https:") ? await examineServed(area, variable, origin) : [];
  try {
    const signal = AbortSignal.timeout(examinationTimeoutMs);
    // Any other path is answered by a balancer too, with nobody behind it.
    const { ok: isReady, status } = await fetch(`${origin}/readyz`, { signal, redirect: "manual" });
    const next = `start the role ${role}, or mend what ${variable} leads to; see \`database\` above, and the role's log`;
    return [
      isReady
        ? ok(area, `${variable} answers`)
        : problem(area, `${variable} answers and is not ready (${status} at /readyz)`, next),
      ...certificates,
    ];
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return [problem(area, `${variable} does not answer: ${wordsOf(cause)}`, remedy), ...certificates];
  }
}

/** As edge and worker reach it: over TLS where they are given an authority. */
function examineVaultPort({ grpcAddress, grpcTls }: OwnVault): Promise<Finding> {
  const area = "origins";
  const [, host = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(grpcAddress) ?? [];
  const where = { host, port: Number(port), timeout: examinationTimeoutMs };
  const failure = (why: string) => {
    const remedy = "start the vault, or mend SWITCHYARD_VAULT_GRPC_ADDRESS; no card is taken meanwhile";
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
    socket.once("timeout", () => fail("it takes too long"));
    socket.once("error", (error) => fail(wordsOf(error)));
  });
  // Files that cannot be used.
  return answered.catch((error: unknown) => failure(wordsOf(error)));
}

function tlsOptionsOf({ caFile, certFile, keyFile }: NonNullable<OwnVault["grpcTls"]>, host: string) {
  const [ca, cert, key] = [caFile, certFile, keyFile].map((path) => path && readFileSync(path));
  // A server name is no address (RFC 6066, section 3).
  return { ca, cert, key, ALPNProtocols: ["h2"], ...(isIP(host) === 0 && { servername: host }) };
}

function examineHosts(apiOrigin: string | undefined, vaultOrigin: string | undefined): Finding[] {
  if (!URL.canParse(apiOrigin ?? "") || !URL.canParse(vaultOrigin ?? "")) return [];
  const [api, vault] = [new URL(apiOrigin!).hostname, new URL(vaultOrigin!).hostname];
  // One machine has one name, and the demo's ports have to do.
  if (api !== vault || isLoopback(api)) return [ok("origins", "API and vault are apart")];
  const remedy =
    "give the vault a host name of its own: cookies know no ports, and a script of one could reach the other";
  return [problem("origins", `API and vault are on one host, ${api}`, remedy)];
}

/** What a server shows of itself, whether or not it is to be believed. */
async function examineServed(area: string, variable: string, origin: string): Promise<Finding[]> {
  const { hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  // A server name is no address (RFC 6066, section 3).
  const name = isIP(host) === 0 ? { servername: host } : {};
  return new Promise((resolve) => {
    const options = { host, port: Number(port) || 443, ...name, timeout: examinationTimeoutMs };
    const socket = connectTls({ ...options, rejectUnauthorized: false }, () => {
      const certificate: PeerCertificate | DetailedPeerCertificate = socket.getPeerCertificate();
      const because = socket.authorized ? undefined : wordsOf(socket.authorizationError);
      socket.destroy();
      resolve([
        explainEnd(area, variable, new Date(certificate.valid_to)),
        ...explainDistrust(area, variable, because),
      ]);
    });
    socket.once("timeout", () => socket.destroy(new Error("it takes too long")));
    // Said already, where the origin is fetched.
    socket.once("error", () => resolve([]));
  });
}

function explainDistrust(area: string, variable: string, because: string | undefined): Finding[] {
  if (because === undefined || because === "CERT_HAS_EXPIRED") return [];
  const remedy = "serve the whole chain, of an authority that browsers know and for this host name";
  return [problem(area, `the certificate at ${variable} is not trusted here: ${because}`, remedy)];
}

function explainEnd(area: string, what: string, endsAt: Date): Finding {
  const days = Math.floor((endsAt.getTime() - Date.now()) / dayMs);
  const remedy = "renew it, and look why that does not happen by itself";
  if (days < 0) return problem(area, `the certificate of ${what} has expired (${endsAt.toISOString()})`, remedy);
  const says = `the certificate of ${what} is valid for ${days} more days`;
  return days < certificateDaysLeast ? warning(area, says, remedy) : ok(area, says);
}

/** The certificates that our own files hold: of the gRPC ports, and those that NATS and the vault are entered with. */
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

/** One for both environments; none where both use an external one. */
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
