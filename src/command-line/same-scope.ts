/**
 * Returns the options that a command's hint must repeat, so that the next command works on the same installation and
 * merchant. PURE.
 */
import type { MerchantOptions } from "./attachment.ts";

// Characters that a shell needs no quotes for.
const plain = /^[\w./:@%+=,-]+$/;

/** Returns the options that lead to this command's scope, as they are typed; empty where all of them were omitted. */
export function sameScope(options: MerchantOptions): string {
  const { demo, grpcAddress, operatorTokenFile, merchant, environment, cell } = options;
  const given: readonly (readonly [string, string | undefined])[] = [
    ["--merchant", merchant],
    ["--environment", environment === "live" ? environment : undefined],
    ["--cell", cell],
    ["--demo", grpcAddress === undefined && demo !== ".switchyard" ? demo : undefined],
    ["--grpc-address", grpcAddress],
    ["--operator-token-file", operatorTokenFile],
  ];
  return given.flatMap(([name, value]) => (value === undefined ? [] : [` ${name} ${quoted(value)}`])).join("");
}

function quoted(value: string): string {
  return plain.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
