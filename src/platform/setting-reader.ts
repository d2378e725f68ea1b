/** Collects all configuration errors of a process's settings and reports them together. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { type Setting, type SettingScope, variableOf } from "./setting.ts";

/**
 * Reads settings from variables, and collects each problem with its name and what to set. Problems repeat no value,
 * since it may be secret.
 */
export class SettingReader {
  readonly variables: Readonly<NodeJS.ProcessEnv>;
  readonly problems: string[];
  /** Problems that do not prevent a start. */
  readonly warnings: string[] = [];

  readonly #isLive: boolean;
  /** Variables whose files could not be read. */
  readonly #unreadable = new Set<string>();

  /** `isLive` says if settings of no environment are used in live too. */
  constructor(variables: NodeJS.ProcessEnv, problems: string[], { isLive = false } = {}) {
    this.variables = variables;
    this.problems = problems;
    this.#isLive = isLive;
  }

  /** Returns its value. If it is missing or wrong a problem is collected, and the value is undefined. */
  read<Value>(setting: Setting<Value>, scope: SettingScope = {}): Value {
    const given = this.#given(setting, scope);
    const { presence } = setting;
    const isLeftOut = given === undefined || (given === "" && presence.type !== "required");
    if (isLeftOut && presence.type === "optional") return undefined as Value;
    if (isLeftOut && presence.type === "default") return this.#parse(setting, presence.text, scope) as Value;
    return this.#parse(setting, given, scope) as Value;
  }

  /** Returns the value of a setting that another one requires. */
  readNeeded<Value>(setting: Setting<Value>, scope: SettingScope = {}): NonNullable<Value> {
    return this.#parse(setting, this.#given(setting, scope), scope) as NonNullable<Value>;
  }

  /** Reports whether an operator has set it, directly or as a file. */
  isSet(setting: Setting<unknown>, scope: SettingScope = {}): boolean {
    return Boolean(this.#given(setting, scope));
  }

  /** Reports a setting that has no meaning with the given values of others. */
  leaveOut(setting: Setting<unknown>, reason: string, scope: SettingScope = {}): void {
    if (this.isSet(setting, scope)) this.problem(variableOf(setting, scope), `must be left out ${reason}`);
  }

  /** Returns the parsed content of a file that a setting names. Shows the message that `parse` throws. */
  readFile<Content>(setting: Setting<string>, parse: (text: string) => Content, scope: SettingScope = {}): Content {
    const path = this.read(setting, scope);
    if (path === undefined) return undefined as never;
    const variable = variableOf(setting, scope);
    try {
      const content = parse(readFileSync(path, "utf8"));
      this.#lookAtReaders(variable, path, scope);
      return content;
    } catch (error) {
      this.problems.push(`- ${variable}: ${error instanceof Error ? error.message : "cannot be read"}`);
      return undefined as never;
    }
  }

  /** Reports a file of a setting that other users can read and should not. */
  keepPrivate(setting: Setting<string | undefined>, scope: SettingScope = {}): void {
    const path = this.#given(setting, scope);
    if (path && existsSync(path)) this.#lookAtReaders(variableOf(setting, scope), path, scope);
  }

  problem(variable: string, what: string): void {
    this.problems.push(`- ${variable} ${what}`);
  }

  #parse<Value>({ kind, ...setting }: Setting<Value>, given: string | undefined, scope: SettingScope): unknown {
    const value = given === undefined ? undefined : kind.parse(given, scope);
    if (value !== undefined) return value;
    const rule = typeof kind.rule === "string" ? kind.rule : kind.rule(scope);
    const variable = variableOf(setting, scope);
    // It is set, and the problem of its file has been reported.
    if (given === undefined && this.#unreadable.has(variable)) return undefined;
    this.problem(variable, given === undefined ? `is not set; it must be ${rule}` : `must be ${rule}`);
    return undefined;
  }

  #given(setting: Setting<unknown>, scope: SettingScope): string | undefined {
    const variable = variableOf(setting, scope);
    const direct = this.variables[variable];
    const path = setting.kind.isSecret && this.variables[`${variable}_FILE`];
    if (!path) return direct;
    if (direct) this.problem(`${variable}_FILE`, `must be left out where ${variable} is set`);
    try {
      const content = readFileSync(path, "utf8").replace(/\r?\n$/, "");
      this.#lookAtReaders(`${variable}_FILE`, path, scope);
      return content;
    } catch (error) {
      if (!this.#unreadable.has(variable))
        this.problem(`${variable}_FILE`, `must be a file that can be read: ${whyUnread(error)}`);
      this.#unreadable.add(variable);
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

/** Never with the path: the secret itself may be there by mistake. */
function whyUnread(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  return code === "EACCES" ? "this user may not read it" : `reading it fails with ${code}`;
}

/**
 * Reports whether more than its owner can read a file. A group may if the owner is another user: that is how mounted
 * secrets are given to a process that is not root.
 */
function isOpenToOthers(path: string): boolean {
  const { mode, uid } = statSync(path);
  const isOurs = process.getuid?.() === uid;
  return (mode & 0o007) !== 0 || (isOurs && (mode & 0o070) !== 0);
}
