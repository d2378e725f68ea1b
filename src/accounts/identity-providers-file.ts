/** The companies' identity providers (OpenID Connect): who signs in by them, where, and with which roles. */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { isLoopback } from "../platform/database-address.ts";
import { decodeId, type MerchantId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { type LiveRole, liveRoles, type MemberRole, memberRoles, type Roles } from "./members.ts";

/** Members with this value of the claim get these roles. */
type RoleRule = Roles & {
  readonly claim: string;
  readonly value: string;
  readonly merchants: readonly MerchantId[];
};

export type IdentityProvider = {
  readonly id: string;
  /** The name that people see. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  readonly privateKey: KeyObject | undefined;
  /** Domains of e-mail addresses for which its word about an address counts, in lower case. */
  readonly domains: readonly string[];
  /** The only ones whose dashboard a sign-in by it opens. */
  readonly merchants: "*" | readonly MerchantId[];
  /** Members with an address of its domains sign in by it alone. */
  readonly isExclusive: boolean;
  /** The proof of a second factor: always, by these values of a claim, or never. */
  readonly secondFactor: "always" | { readonly claim: string; readonly values: readonly string[] } | undefined;
  /** If absent, only invitations give roles. */
  readonly roles: readonly RoleRule[] | undefined;
};

const providersMax = 100;

/** Reports whether a sign-in by the provider opens the dashboard of a merchant. */
export function serves({ merchants }: IdentityProvider, merchantId: MerchantId): boolean {
  return merchants === "*" || merchants.includes(merchantId);
}

/** Reports whether an address has a domain of the provider. The address is in the form of `normalizeEmail`. */
export function hasDomain({ domains }: IdentityProvider, email: string): boolean {
  return domains.includes(email.slice(email.lastIndexOf("@") + 1));
}

/** Returns the provider that members with this address have to use. */
export function findExclusive(providers: readonly IdentityProvider[], email: string): IdentityProvider | undefined {
  return providers.find((provider) => provider.isExclusive && hasDomain(provider, email));
}

/** Reads the file, a list in JSON. Throws an Error that names the entry, the member and the rule, and no secret. */
export function parseIdentityProviders(text: string): IdentityProvider[] {
  const list = readJson(text);
  if (!Array.isArray(list) || list.length > providersMax)
    throw new Error(`it must be a list of at most ${providersMax} identity providers`);
  const providers = list.map((entry: unknown, index) => providerOf(entry, `[${index}]`));
  const twice = providers.findIndex(({ id }, index) => providers.findIndex((other) => other.id === id) < index);
  if (twice >= 0) throw new Error(`[${twice}].id must be another than those of the others`);
  const domains = providers.flatMap((each) => (each.isExclusive ? each.domains : []));
  const shared = domains.find((domain, index) => domains.indexOf(domain) < index);
  if (shared !== undefined) throw new Error(`only one entry can be exclusive for the domain ${shared}`);
  return providers;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("it must be JSON");
  }
}

const members = [
  ...["id", "name", "issuer", "clientId", "clientSecretFile", "privateKeyFile", "domains", "merchants", "exclusive"],
  ...["secondFactor", "roles"],
];

function providerOf(entry: unknown, place: string): IdentityProvider {
  const given = objectOf(entry, { place, members });
  const { id, exclusive = false } = given;
  // Lower case, so that it is never the source of an invitation.
  if (typeof id !== "string" || !/^[a-z0-9][a-z0-9-]{0,62}$/.test(id))
    throw new Error(`${place}.id must be lower-case letters, digits and hyphens, at most 63`);
  if (typeof exclusive !== "boolean") throw new Error(`${place}.exclusive must be true or false`);
  const merchants = given.merchants === "*" ? "*" : merchantsOf(given.merchants, `${place}.merchants`, `"*" or `);
  return {
    id,
    name: textOf(given.name, `${place}.name`, 60),
    issuer: issuerOf(given.issuer, place),
    clientId: textOf(given.clientId, `${place}.clientId`, 500),
    ...credentialsOf(given, place),
    domains: domainsOf(given.domains, place),
    merchants,
    isExclusive: exclusive,
    secondFactor: secondFactorOf(given.secondFactor, place),
    roles: given.roles === undefined ? undefined : rulesOf(given.roles, { place, merchants }),
  };
}

function objectOf(entry: unknown, { place, members }: { place: string; members: readonly string[] }) {
  if (typeof entry !== "object" || entry === null) throw new Error(`${place} must be an object`);
  const given = entry as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).find((member) => !members.includes(member));
  if (unknown !== undefined) throw new Error(`${place} must have only ${members.join(", ")}`);
  return given;
}

function textOf(given: unknown, place: string, charactersMax: number): string {
  if (typeof given === "string" && given.length > 0 && given.length <= charactersMax) return given;
  throw new Error(`${place} must be a text of at most ${charactersMax} characters`);
}

function issuerOf(given: unknown, place: string): string {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (isSafe && url?.search === "" && url.hash === "" && String(given).length <= 500) return String(given);
  throw new Error(`${place}.issuer must be an https: URL without a query, as the provider writes it`);
}

function credentialsOf({ clientSecretFile, privateKeyFile }: Readonly<Record<string, unknown>>, place: string) {
  if ((clientSecretFile === undefined) === (privateKeyFile === undefined))
    throw new Error(`${place} must have either clientSecretFile or privateKeyFile`);
  const name = clientSecretFile === undefined ? "privateKeyFile" : "clientSecretFile";
  const text = readText(clientSecretFile ?? privateKeyFile, `${place}.${name}`);
  if (clientSecretFile !== undefined) return { clientSecret: new Secret(text), privateKey: undefined };
  try {
    return { clientSecret: undefined, privateKey: createPrivateKey(text) };
  } catch {
    throw new Error(`${place}.privateKeyFile must name a private key in PEM`);
  }
}

function readText(path: unknown, place: string): string {
  try {
    const text = readFileSync(String(path), "utf8").trim();
    if (text !== "") return text;
  } catch {
    // It is refused below.
  }
  throw new Error(`${place} must name a file that can be read and is not empty`);
}

function domainsOf(given: unknown, place: string): readonly string[] {
  const domains = Array.isArray(given) ? given.map(String) : [];
  const areDomains = domains.every((domain) => /^([a-z0-9-]+\.)+[a-z0-9-]+$/.test(domain));
  if (domains.length > 0 && areDomains) return domains;
  throw new Error(`${place}.domains must be a list of domains in lower case, such as example.com`);
}

function merchantsOf(given: unknown, place: string, or = ""): readonly MerchantId[] {
  const ids = Array.isArray(given) ? given.map((id: unknown) => decodeId("mer", String(id))) : [];
  if (ids.length > 0 && ids.every((id) => id !== undefined)) return ids;
  throw new Error(`${place} must be ${or}a list of ids such as mer_01h455vb4pex5vsknk084sn02q`);
}

function secondFactorOf(given: unknown, place: string): IdentityProvider["secondFactor"] {
  if (given === undefined || given === "always") return given;
  const { claim, values } = objectOf(given, { place: `${place}.secondFactor`, members: ["claim", "values"] });
  if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string"))
    return { claim: textOf(claim, `${place}.secondFactor.claim`, 100), values };
  throw new Error(`${place}.secondFactor.values must be a list of texts`);
}

function rulesOf(
  given: unknown,
  { place, merchants }: { place: string; merchants: IdentityProvider["merchants"] },
): readonly RoleRule[] {
  if (!Array.isArray(given)) throw new Error(`${place}.roles must be a list`);
  return given.map((entry: unknown, index) => {
    const at = `${place}.roles[${index}]`;
    const rule = objectOf(entry, { place: at, members: ["claim", "value", "merchants", "role", "liveRole"] });
    const granted = merchantsOf(rule.merchants, `${at}.merchants`);
    if (merchants !== "*" && granted.some((id) => !merchants.includes(id)))
      throw new Error(`${at}.merchants must be among the merchants of the provider`);
    const role = memberRoles.find((known) => known === rule.role);
    const liveRole = liveRoles.find((known) => known === rule.liveRole);
    requireRoles(role, liveRole, at);
    return {
      claim: textOf(rule.claim, `${at}.claim`, 100),
      value: textOf(rule.value, `${at}.value`, 500),
      merchants: granted,
      role,
      liveRole,
    } as RoleRule;
  });
}

function requireRoles(role: MemberRole | undefined, liveRole: LiveRole | undefined, place: string): void {
  if (role === undefined) throw new Error(`${place}.role must be ${memberRoles.join(", ")}`);
  if (liveRole === undefined) throw new Error(`${place}.liveRole must be ${liveRoles.join(", ")}`);
  if ((role === "OWNER") !== (liveRole === "OWNER"))
    throw new Error(`${place} must have OWNER as role and as liveRole, or as neither`);
}
