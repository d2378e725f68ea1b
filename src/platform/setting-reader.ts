/** Reads settings of a process one after another and keeps going, so that a person mends all mistakes in one round. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { type Setting, type SettingScope, variableOf } from "./setting.ts";

/** Reads settings out of variables, and notes what is wrong with its name and what to set. Problems repeat no value: it may be secret. */
export class SettingReader {
  readonly variables: Readonly<NodeJS.ProcessEnv>;
  readonly problems: string[];
  /** What does not stop a start. */
  readonly warnings: string[] = [];

  readonly #isLive: boolean;

  /** `isLive` says whether what belongs to no environment is used in live too. */
  constructor(variables: NodeJS.ProcessEnv, problems: string[], { isLive = false } = {}) {
    this.variables = variables;
    this.problems = problems;
    this.#isLive = isLive;
  }

  /** Its value. Where it is missing or wrong a problem is noted, and there is none in spite of its type. */
  read<Value>(setting: Setting<Value>, scope: SettingScope = {}): Value {
    const given = this.#given(setting, scope);
    const { presence } = setting;
    const isLeftOut = given === undefined || (given === "" && presence.type !== "required");
    if (isLeftOut && presence.type === "optional") return undefined as Value;
    if (isLeftOut && presence.type === "default") return this.#parse(setting, presence.text, scope) as Value;
    return this.#parse(setting, given, scope) as Value;
  }

  /** The value of a setting that another one makes necessary. */
  readNeeded<Value>(setting: Setting<Value>, scope: SettingScope = {}): NonNullable<Value> {
    return this.#parse(setting, this.#given(setting, scope), scope) as NonNullable<Value>;
  }

  /** Whether an operator has set it, by itself or as a file. */
  isSet(setting: Setting<unknown>, scope: SettingScope = {}): boolean {
    return Boolean(this.#given(setting, scope));
  }

  /** Notes a setting that has no meaning where others are as they are. */
  leaveOut(setting: Setting<unknown>, because: string, scope: SettingScope = {}): void {
    if (this.isSet(setting, scope)) this.problem(variableOf(setting, scope.environment), `must be left out ${because}`);
  }

  /** What a file says that a setting names. `parse` throws an Error whose message is shown. */
  readFile<Content>(setting: Setting<string>, parse: (text: string) => Content, scope: SettingScope = {}): Content {
    const path = this.read(setting, scope);
    if (path === undefined) return undefined as never;
    const variable = variableOf(setting, scope.environment);
    try {
      const content = parse(readFileSync(path, "utf8"));
      this.#lookAtReaders(variable, path, scope);
      return content;
    } catch (error) {
      this.problems.push(`- ${variable}: ${error instanceof Error ? error.message : "cannot be read"}`);
      return undefined as never;
    }
  }

  /** Notes a file that a setting names, where others can read it and should not. */
  keepPrivate(setting: Setting<string | undefined>, scope: SettingScope = {}): void {
    const path = this.#given(setting, scope);
    if (path && existsSync(path)) this.#lookAtReaders(variableOf(setting, scope.environment), path, scope);
  }

  /** Notes what is wrong with a variable. */
  problem(variable: string, what: string): void {
    this.problems.push(`- ${variable} ${what}`);
  }

  #parse<Value>({ kind, ...setting }: Setting<Value>, given: string | undefined, scope: SettingScope): unknown {
    const value = given === undefined ? undefined : kind.parse(given, scope);
    if (value !== undefined) return value;
    const rule = typeof kind.rule === "string" ? kind.rule : kind.rule(scope);
    const variable = variableOf(setting, scope.environment);
    this.problem(variable, given === undefined ? `is not set; it must be ${rule}` : `must be ${rule}`);
    return undefined;
  }

  #given(setting: Setting<unknown>, scope: SettingScope): string | undefined {
    const variable = variableOf(setting, scope.environment);
    const direct = this.variables[variable];
    const path = setting.kind.isSecret && this.variables[`${variable}_FILE`];
    if (!path) return direct;
    if (direct) this.problem(`${variable}_FILE`, `must be left out where ${variable} is set`);
    try {
      const content = readFileSync(path, "utf8").replace(/\r?\n$/, "");
      this.#lookAtReaders(`${variable}_FILE`, path, scope);
      return content;
    } catch {
      this.problem(`${variable}_FILE`, "must be a file that can be read");
      // Not missing: what is wrong has been said.
      return direct;
    }
  }

  #lookAtReaders(variable: string, path: string, { environment }: SettingScope): void {
    if (!isOpenToOthers(path)) return;
    const line = `${variable}: others on this machine can read the file; chmod 600 closes it`;
    if (environment === undefined ? this.#isLive : environment === "live") this.problems.push(`- ${line}`);
    else this.warnings.push(line);
  }
}

/**
 * Whether more than its owner can read a file. A group may where the owner is somebody else: that is how mounted secrets
 * are given to a process that is not root.
 */
function isOpenToOthers(path: string): boolean {
  const { mode, uid } = statSync(path);
  const isOurs = process.getuid?.() === uid;
  return (mode & 0o007) !== 0 || (isOurs && (mode & 0o070) !== 0);
}
