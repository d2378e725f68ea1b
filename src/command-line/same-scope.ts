/** The options of a command that its hint has to repeat, so that the next command works on the same installation and merchant. PURE. */
import type { AttachOptions, ScopeOptions } from "./attachment.ts";

// What a shell takes as it stands.
const plain = /^[\w./:@%+=,-]+$/;

/** The options that lead where this command went, as they are typed; empty where all of them were left out. */
export function sameScope(options: AttachOptions & ScopeOptions): string {
  const { demo, grpcAddress, operatorTokenFile, merchant, environment } = options;
  const given: readonly (readonly [string, string | undefined])[] = [
    ["--merchant", merchant],
    ["--environment", environment === "live" ? environment : undefined],
    ["--demo", grpcAddress === undefined && demo !== ".switchyard" ? demo : undefined],
    ["--grpc-address", grpcAddress],
    ["--operator-token-file", operatorTokenFile],
  ];
  return given.flatMap(([name, value]) => (value === undefined ? [] : [` ${name} ${quoted(value)}`])).join("");
}

function quoted(value: string): string {
  return plain.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
