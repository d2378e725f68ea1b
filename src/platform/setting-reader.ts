/** Reads settings of a process one after another and keeps going, so that a person mends all mistakes in one round. */
import { isAddressRange } from "./client-address.ts";
import { Secret } from "./secrets.ts";
import { checkTlsFiles, type TlsPaths } from "./tls-files.ts";

/** Each method reads one setting, and notes a problem with its name and what to set. Problems repeat no value: it may be secret. */
export class SettingReader {
  readonly variables: Readonly<NodeJS.ProcessEnv>;
  readonly problems: string[];

  constructor(variables: NodeJS.ProcessEnv, problems: string[]) {
    this.variables = variables;
    this.problems = problems;
  }

  /** `pattern` says whether a value will do. */
  text(name: string, pattern: Pick<RegExp, "test">, rule: string, fallback?: string): string {
    const value = this.variables[name] ?? fallback;
    if (value === undefined) this.problems.push(`- ${name} is not set; it must be ${rule}`);
    else if (!pattern.test(value)) this.problems.push(`- ${name} must be ${rule}`);
    return value ?? "";
  }

  port(name: string, fallback?: string): number {
    const port = Number(this.text(name, /^\d{1,5}$/, "a port from 1 to 65535", fallback));
    if (port > 65_535) this.problems.push(`- ${name} must be a port from 1 to 65535`);
    return port;
  }

  within(name: string, what: string, bounds: { least: number; usual: number; most: number }): number {
    const rule = `${what} from ${bounds.least} to ${bounds.most}`;
    const value = Number(this.text(name, /^\d{1,9}$/, rule, String(bounds.usual)));
    if (value < bounds.least || value > bounds.most) this.problems.push(`- ${name} must be ${rule}`);
    return value;
  }

  origin(name: string, fallback?: string): string {
    return this.text(
      name,
      /^https?:\/\/[\w.:[\]-]+$/,
      "an origin such as https://pay.example.com, without a path",
      fallback,
    );
  }

  /** None when it is not set: a header that anybody can write is then nobody's word. */
  addressRanges(name: string): readonly string[] {
    const ranges = this.text(name, /^/, "", "").split(",").filter(Boolean);
    if (ranges.every(isAddressRange)) return ranges;
    this.problems.push(`- ${name} must be addresses and ranges such as 10.0.0.0/8, with commas and no blanks between`);
    return [];
  }

  databaseUrl(name: string): Secret {
    return new Secret(
      this.text(name, /^postgres(ql)?:\/\/./, "a PostgreSQL address, postgres://role:password@host/database"),
    );
  }

  tls(prefix: string): TlsPaths | undefined {
    const [cert, key, ca] = [`${prefix}_CERT_FILE`, `${prefix}_KEY_FILE`, `${prefix}_CLIENT_CA_FILE`];
    if ([cert, key, ca].every((name) => this.variables[name] === undefined)) return undefined;
    const paths = {
      certFile: this.text(cert, /./, "the file of the certificate chain in PEM"),
      keyFile: this.text(key, /./, "the file of the certificate's key in PEM"),
      clientCaFile: this.variables[ca],
    };
    try {
      checkTlsFiles(paths);
    } catch (error) {
      this.problems.push(`- ${prefix}_…: ${error instanceof Error ? error.message : "the files cannot be used"}`);
    }
    return paths;
  }
}
