/** What a setting is: its name, who reads it, what its text must be, and what an operator is told of it. Reads nothing itself. */
import { isAddressRange } from "./client-address.ts";
import { parseDatabaseAddress } from "./database-address.ts";
import { Secret } from "./secrets.ts";

/** Who reads a setting: a role of a process, or the command line. */
export type SettingReaderRole = "edge" | "worker" | "dashboard" | "vault" | "sandbox" | "commands";

/** The environment that a setting is read for, and what else a rule looks at. */
export type SettingScope = {
  readonly environment?: "test" | "live" | undefined;
  readonly apiOrigin?: string | undefined;
};

/** What the text of a setting must be, and what it means. */
export type SettingKind<Value> = {
  /** Follows "must be". */
  readonly rule: string | ((scope: SettingScope) => string);
  /** undefined where the text does not keep to the rule. */
  readonly parse: (text: string, scope: SettingScope) => Value | undefined;
  /** Both are allowed. */
  readonly bounds?: { readonly least: number; readonly most: number };
  /** Whether it may be given as the path of a file, by the name with _FILE at its end. */
  readonly isSecret?: true;
};

type About = {
  readonly roles: readonly SettingReaderRole[];
  /** What it is, in one sentence of Markdown. */
  readonly about: string;
  readonly example: string;
};

/** A setting; `Value` has undefined in it where it may be left out. */
export type Setting<Value> = About & {
  /** `{ENV}` in it stands for TEST or LIVE. */
  readonly name: string;
  readonly kind: SettingKind<NonNullable<Value>>;
  readonly presence:
    | { readonly type: "required" }
    /** `neededWith` says in Markdown what makes it required. */
    | { readonly type: "optional"; readonly neededWith?: string }
    | { readonly type: "default"; readonly text: string };
};

type Declared<Value> = About & { readonly kind: SettingKind<Value> };

/** A setting that must be there. */
export function required<Value>(name: string, setting: Declared<Value>): Setting<NonNullable<Value>> {
  return { name, presence: { type: "required" }, ...setting } as Setting<NonNullable<Value>>;
}

/** A setting without which there is less. */
export function optional<Value>(
  name: string,
  { neededWith, ...setting }: Declared<Value> & { readonly neededWith?: string },
): Setting<Value | undefined> {
  const presence = { type: "optional", ...(neededWith !== undefined && { neededWith }) } as const;
  return { name, presence, ...setting } as Setting<Value | undefined>;
}

/** A setting that has a usual value; the text is what an operator would write. */
export function usually<Value>(name: string, text: string, setting: Declared<Value>): Setting<NonNullable<Value>> {
  return { name, presence: { type: "default", text }, ...setting } as Setting<NonNullable<Value>>;
}

/** The variable of a setting in an environment. */
export function variableOf({ name }: Pick<Setting<unknown>, "name">, environment?: "test" | "live"): string {
  return environment === undefined ? name : name.replace("{ENV}", environment.toUpperCase());
}

/** Any text that matches. */
export function text(pattern: Pick<RegExp, "test">, rule: string): SettingKind<string> {
  return { rule, parse: (given) => (pattern.test(given) ? given : undefined) };
}

/** Text that nobody else may read. */
export function secretText(pattern: Pick<RegExp, "test">, rule: string): SettingKind<Secret> {
  return { rule, isSecret: true, parse: (given) => (pattern.test(given) ? new Secret(given) : undefined) };
}

/** One of a few words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): SettingKind<Word> {
  const rule = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  return { rule, parse: (given) => words.find((word) => word === given) };
}

/** A whole number; `what` is its unit in the plural. */
export function wholeNumber(what: string, { least, most }: { least: number; most: number }): SettingKind<number> {
  const isWithin = (given: string) => /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most;
  return {
    rule: `${what} from ${least} to ${most}`,
    bounds: { least, most },
    parse: (given) => (isWithin(given) ? Number(given) : undefined),
  };
}

/** A port; 0 stands for any that is free, or for none. */
export const port: SettingKind<number> = {
  ...wholeNumber("", { least: 0, most: 65_535 }),
  rule: "a port from 1 to 65535",
};

/** Where something is served, as browsers see it. */
export const origin = text(/^https?:\/\/[\w.:[\]-]+$/, "an origin such as https://pay.example.com, without a path");

/** The path of a file. */
export function file(rule: string): SettingKind<string> {
  return text(/./, rule);
}

/** A database with the role that enters it. */
export const databaseUrl: SettingKind<Secret> = {
  rule: "a PostgreSQL address, postgres://role:password@host/database, with `/`, `%`, `@`, `#` and `?` of the password percent-encoded",
  isSecret: true,
  parse(given) {
    const isRead = /^postgres(ql)?:\/\/./.test(given) && parseDatabaseAddress(given) !== undefined;
    return isRead ? new Secret(given) : undefined;
  },
};

/** Addresses and ranges of them; a header that anybody can write is otherwise nobody's word. */
export const addressRanges: SettingKind<readonly string[]> = {
  rule: "addresses and ranges such as 10.0.0.0/8, with commas and no blanks between",
  parse(given) {
    const ranges = given.split(",");
    return ranges.every(isAddressRange) ? ranges : undefined;
  },
};
