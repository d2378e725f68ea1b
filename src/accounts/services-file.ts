/** Internal services that may call the gRPC port: who they are, for which merchants, and with which rights. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { decodeId, type MerchantId } from "../platform/ids.ts";
import type { VerificationKey } from "../platform/signed-claims.ts";
import { configurationRights, rights as rightsOfKeys } from "./rights.ts";

/** A service. Its `kid` is its name. */
export type InternalService = VerificationKey & {
  /** The merchants for which it may call. */
  readonly merchants: "*" | readonly MerchantId[];
  readonly rights: readonly string[];
};

/** The services of the file as it is now. The part that admits their calls reports each. */
export type CallingServices = {
  readonly entries: () => readonly InternalService[];
  readonly onCall: (admitted: { readonly environment: string; readonly service: string }) => void;
};

const servicesMax = 1_000;

/**
 * Reads the file of services, a list in JSON. Throws an Error that names the entry, the member and the rule. The file has
 * public material only.
 */
export function parseServices(text: string): InternalService[] {
  // It would be public wherever the file is.
  if (text.includes("PRIVATE")) throw new Error("it must have public keys only; a private key is in it");
  const list = readJson(text);
  if (!Array.isArray(list) || list.length > servicesMax)
    throw new Error(`it must be a list of at most ${servicesMax} services`);
  const services = list.map((entry: unknown, index) => serviceOf(entry, `[${index}]`));
  const twice = services.findIndex(({ kid, environment }, index) =>
    services.slice(0, index).some((other) => other.kid === kid && other.environment === environment),
  );
  if (twice >= 0) throw new Error(`[${twice}].name must be another than those of its environment`);
  const keys = services.map(({ publicKey }) => publicKey.export({ type: "spki", format: "der" }).toString("base64"));
  const shared = keys.findIndex((key, index) => keys.indexOf(key) < index);
  if (shared >= 0) throw new Error(`[${shared}].publicKey must be another than those of the other services`);
  return services;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("it must be JSON");
  }
}

const members = ["name", "environment", "publicKey", "merchants", "rights"];

function serviceOf(entry: unknown, place: string): InternalService {
  if (typeof entry !== "object" || entry === null) throw new Error(`${place} must be an object`);
  const given = entry as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).find((member) => !members.includes(member));
  if (unknown !== undefined) throw new Error(`${place} must have ${members.join(", ")} and no other member`);
  const { name, environment, publicKey, merchants, rights } = given;
  if (typeof name !== "string" || !/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
    throw new Error(`${place}.name must be lower-case letters, digits and hyphens, at most 63`);
  if (environment !== "test" && environment !== "live") throw new Error(`${place}.environment must be test or live`);
  return {
    kid: name,
    environment,
    publicKey: publicKeyOf(publicKey, place),
    merchants: merchantsOf(merchants, place),
    rights: rightsOf(rights, place),
  };
}

function publicKeyOf(pem: unknown, place: string): KeyObject {
  try {
    const key = createPublicKey(String(pem));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // It is refused below.
  }
  throw new Error(`${place}.publicKey must be an Ed25519 public key in PEM`);
}

function merchantsOf(given: unknown, place: string): InternalService["merchants"] {
  if (given === "*") return given;
  const ids = Array.isArray(given) ? given.map((id: unknown) => decodeId("mer", String(id))) : [];
  if (ids.length > 0 && ids.every((id) => id !== undefined)) return ids;
  throw new Error(`${place}.merchants must be "*" or a list of ids such as mer_01h455vb4pex5vsknk084sn02q`);
}

const knownRights: readonly string[] = [...rightsOfKeys, ...configurationRights];

function rightsOf(given: unknown, place: string): readonly string[] {
  const isList = Array.isArray(given) && given.length > 0;
  if (isList && given.every((right) => knownRights.includes(right))) return given as string[];
  throw new Error(`${place}.rights must be a list of ${knownRights.join(", ")}`);
}

export type ServiceEntry = {
  readonly name: string;
  readonly environment: string;
  readonly merchants: "*" | readonly string[];
  readonly rights: readonly string[];
};

/**
 * Returns the text of a file with one more service, and the private key in PEM for that service only. A service that is there gets
 * a new key. Throws as `parseServices` does.
 */
export function addService(text: string, { name, environment, merchants, rights }: ServiceEntry) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  parseServices(text);
  const others = (JSON.parse(text) as ServiceEntry[]).filter(
    (entry) => entry.name !== name || entry.environment !== environment,
  );
  const added = [...others, { name, environment, publicKey: pem, merchants, rights }];
  const file = `${JSON.stringify(added, null, 2)}\n`;
  parseServices(file);
  return { file, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}
