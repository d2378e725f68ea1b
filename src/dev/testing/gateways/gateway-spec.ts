/**
 * The gateways' own OpenAPI files, against which tests check every request of a connector and every answer of an
 * emulator. The files are beside the repository in ../shared/gateways; if they are absent, the checks are skipped.
 *
 * To use it for a connector: name the files in the subject of its harness, and every conformance test checks by itself.
 *
 *     const subject = { …, specs: ["adyen"], unlisted: [/^GET \/notifications$/] };
 *
 * `unlisted` are requests that no file has, such as PayPal's POST /v1/oauth2/token. A separate test checks directly:
 *
 *     withSpecs(["paypal-orders", "paypal-payments"], (spec) => {
 *       it("…", () => expect(spec.requestProblems({ method, path, contentType, body })).toEqual([]));
 *     });
 *
 * Requests are checked as they are sent, with the card filled in. `withShared` reads the gateways' own examples and
 * samples.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Operation, type SpecDocument, type SpecRequest } from "./spec-operation.ts";
import { supplemented } from "./spec-supplements.ts";

export type SpecName =
  | ("stripe" | "adyen" | "paypal-orders" | "paypal-payments")
  | ("stripe-disputes" | "paypal-disputes" | "paypal-reporting" | "adyen-disputes");

export type SpecAnswer = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: string;
};

const folder = join(import.meta.dirname, "../../../../../shared/gateways");
// The files about disputes are beside the others, under their own names.
const elsewhere: Readonly<Record<string, string>> = {
  "stripe-disputes": "../disputes/stripe-supplement",
  "paypal-disputes": "../disputes/paypal-customer-disputes-v1",
  "paypal-reporting": "../disputes/paypal-reporting-transactions-v1",
  "adyen-disputes": "../disputes/adyen-DisputeService-v30",
};
const reportedMissing = new Set<string>();

/** Reads a JSON file of ../shared/gateways by its name; undefined, with a printed reason, if absent. */
function readShared(name: string): unknown {
  const file = join(folder, `${elsewhere[name] ?? name}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  if (!reportedMissing.has(name)) {
    console.warn(`Skipped the checks against ../shared/gateways/${name}.json, because the file does not exist.`);
  }
  reportedMissing.add(name);
  return undefined;
}

/** Declares tests that need a file of ../shared/gateways; prints a message and declares none without it. */
export function withShared<Content>(name: string, declare: (content: Content) => void): void {
  const content = readShared(name);
  if (content !== undefined) declare(content as Content);
}

/** Declares tests that use specifications; prints a message and declares none if a file is absent. */
export function withSpecs(names: readonly SpecName[], declare: (spec: GatewaySpec) => void): void {
  const spec = openSpecs(names);
  if (spec !== undefined) declare(spec);
}

/** Returns all operations of these files; undefined, with a printed reason, if one is absent. */
export function openSpecs(names: readonly SpecName[]): GatewaySpec | undefined {
  const documents = names.map((name) => ({ name, document: readShared(name) as SpecDocument | undefined }));
  if (documents.some(({ document }) => document === undefined)) return undefined;
  const operations = documents.flatMap(({ name, document }) => Operation.allOf(name, supplemented(name, document!)));
  // A fixed path has precedence over one that would match it with a variable.
  return new GatewaySpec(operations.toSorted((one, other) => one.variables - other.variables));
}

export class GatewaySpec {
  readonly #operations: readonly Operation[];

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  /** Returns the problems of a request, a line each; none if the gateway documents it. */
  requestProblems(request: SpecRequest): string[] {
    const [pathname = "", query = ""] = request.path.split("?");
    const operation = this.#find(request.method, pathname);
    if (operation === undefined) return [`${request.method} ${pathname}: the specification has no such operation`];
    return operation.requestProblems({ ...request, query });
  }

  /** Returns the problems of an answer; none if the gateway documents it. */
  answerProblems({ method, path, status, body }: SpecAnswer): string[] {
    const [pathname = ""] = path.split("?");
    const operation = this.#find(method, pathname);
    if (operation === undefined) return [`${method} ${pathname}: the specification has no such operation`];
    return operation.answerProblems(status, body);
  }

  #find(method: string, pathname: string): Operation | undefined {
    return this.#operations.find((operation) => operation.method === method && operation.takes(pathname));
  }
}
