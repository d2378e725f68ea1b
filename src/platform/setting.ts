/** Definition of a setting: its name, readers, form and description. Reads nothing itself. */
import { isAddressRange } from "./client-address.ts";
import { parseDatabaseAddress } from "./database-address.ts";
import { Secret } from "./secrets.ts";

export type SettingReaderRole = "edge" | "worker" | "dashboard" | "vault" | "sandbox" | "commands";

export type SettingScope = {
  readonly environment?: "test" | "live" | undefined;
  /** The number of a further cell of the environment. */
  readonly cell?: number | undefined;
  readonly apiOrigin?: string | undefined;
};

/** The form of a setting's text, and its meaning. */
export type SettingKind<Value> = {
  /** Follows "must be". */
  readonly rule: string | ((scope: SettingScope) => string);
  /** Returns undefined if the text breaks the rule. */
  readonly parse: (text: string, scope: SettingScope) => Value | undefined;
  /** Both ends are included. */
  readonly bounds?: { readonly min: number; readonly max: number };
  /** True if it may be given as the path of a file, by the name with _FILE at its end. */
  readonly isSecret?: true;
};

type About = {
  readonly roles: readonly SettingReaderRole[];
  readonly about: string;
  readonly example: string;
};

/** A setting; `Value` includes undefined if it may be absent. */
export type Setting<Value> = About & {
  /** The name, in which `{ENV}` means TEST or LIVE, and `{N}` the number of a further cell. */
  readonly name: string;
  readonly kind: SettingKind<NonNullable<Value>>;
  readonly presence:
    | { readonly type: "required" }
    /** `neededWith` says in Markdown when it is required. */
    | { readonly type: "optional"; readonly neededWith?: string }
    | { readonly type: "default"; readonly text: string };
};

type Declared<Value> = About & { readonly kind: SettingKind<Value> };

export function required<Value>(name: string, setting: Declared<Value>): Setting<NonNullable<Value>> {
  return { name, presence: { type: "required" }, ...setting } as Setting<NonNullable<Value>>;
}

export function optional<Value>(
  name: string,
  { neededWith, ...setting }: Declared<Value> & { readonly neededWith?: string },
): Setting<Value | undefined> {
  const presence = { type: "optional", ...(neededWith !== undefined && { neededWith }) } as const;
  return { name, presence, ...setting } as Setting<Value | undefined>;
}

/** Declares a setting with a default; the text is what an operator would write. */
export function withDefault<Value>(name: string, text: string, setting: Declared<Value>): Setting<NonNullable<Value>> {
  return { name, presence: { type: "default", text }, ...setting } as Setting<NonNullable<Value>>;
}

export function variableOf({ name }: Pick<Setting<unknown>, "name">, { environment, cell }: SettingScope = {}): string {
  const named = environment === undefined ? name : name.replace("{ENV}", environment.toUpperCase());
  return cell === undefined ? named : named.replace("{N}", String(cell));
}

export function text(pattern: Pick<RegExp, "test">, rule: string): SettingKind<string> {
  return { rule, parse: (given) => (pattern.test(given) ? given : undefined) };
}

export function secretText(pattern: Pick<RegExp, "test">, rule: string): SettingKind<Secret> {
  return { rule, isSecret: true, parse: (given) => (pattern.test(given) ? new Secret(given) : undefined) };
}

export function oneOf<const Word extends string>(...words: readonly Word[]): SettingKind<Word> {
  const rule = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  return { rule, parse: (given) => words.find((word) => word === given) };
}

/** Accepts a whole number; `what` is its unit in the plural. */
export function wholeNumber(what: string, { min, max }: { min: number; max: number }): SettingKind<number> {
  const isWithin = (given: string) => /^\d{1,9}$/.test(given) && Number(given) >= min && Number(given) <= max;
  return {
    rule: `${what} from ${min} to ${max}`,
    bounds: { min, max },
    parse: (given) => (isWithin(given) ? Number(given) : undefined),
  };
}

/** A port; 0 means any free one, or none. */
export const port: SettingKind<number> = {
  ...wholeNumber("", { min: 0, max: 65_535 }),
  rule: "a port from 1 to 65535",
};

export const origin = text(/^https?:\/\/[\w.:[\]-]+$/, "an origin such as https://pay.example.com, without a path");

export function file(rule: string): SettingKind<string> {
  return text(/./, rule);
}

export const databaseUrl: SettingKind<Secret> = {
  rule: "a PostgreSQL address, `postgres://` and then role:password@host/database, with `/`, `%`, `@`, `#` and `?` of the password percent-encoded",
  isSecret: true,
  parse(given) {
    const isRead = /^postgres(ql)?:\/\/./.test(given) && parseDatabaseAddress(given) !== undefined;
    return isRead ? new Secret(given) : undefined;
  },
};

/** Addresses and ranges of proxies, or `none`; `X-Forwarded-For` is trusted only from these. */
export const addressRanges: SettingKind<readonly string[]> = {
  rule: "addresses and ranges such as 10.0.0.0/8, with commas and no blanks between, or none",
  parse(given) {
    if (given === "none") return [];
    const ranges = given.split(",");
    return ranges.every(isAddressRange) ? ranges : undefined;
  },
};
