/**
 * The gateways' own OpenAPI files, against which tests check every request that a connector sends and every answer that a
 * stand-in gives. The files lie beside the repository in ../shared/gateways; where they are not, the checks are left out.
 *
 * To use it for a connector: name the files in its bench subject, and every conformance test checks by itself.
 *
 *     const subject = { …, specs: ["adyen"], unlisted: [/^GET \/notices$/] };
 *
 * `unlisted` are requests that no file knows, such as PayPal's POST /v1/oauth2/token. A test of its own asks directly:
 *
 *     withSpecs(["paypal-orders", "paypal-payments"], (spec) => {
 *       it("…", () => expect(spec.requestProblems({ method, path, contentType, body })).toEqual([]));
 *     });
 *
 * Requests are checked as they leave, with the card filled in. `withShared` gives the gateways' own examples and samples.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Operation, type SpecDocument, type SpecRequest } from "./spec-operation.ts";

/** The OpenAPI files there are. */
export type SpecName = "stripe" | "adyen" | "paypal-orders" | "paypal-payments";

/** One answer as a gateway gave it. */
export type SpecAnswer = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: string;
};

const folder = join(import.meta.dirname, "../../../../shared/gateways");
const toldMissing = new Set<string>();

/** A JSON file of ../shared/gateways by its name without ending; undefined, with a printed reason, where it is absent. */
function readShared(name: string): unknown {
  const file = join(folder, `${name}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  if (!toldMissing.has(name)) {
    console.warn(`Left out: the checks against ../shared/gateways/${name}.json, because there is no such file.`);
  }
  toldMissing.add(name);
  return undefined;
}

/** Declares tests that need a file of ../shared/gateways, such as `stripe-fixtures`; says so and declares none without it. */
export function withShared<Content>(name: string, declare: (content: Content) => void): void {
  const content = readShared(name);
  if (content !== undefined) declare(content as Content);
}

/** Declares tests that ask specifications; says so and declares none where a file is absent. */
export function withSpecs(names: readonly SpecName[], declare: (spec: GatewaySpec) => void): void {
  const spec = openSpecs(names);
  if (spec !== undefined) declare(spec);
}

/** All operations of these files; undefined, with a printed reason, where one is absent. */
export function openSpecs(names: readonly SpecName[]): GatewaySpec | undefined {
  const documents = names.map((name) => ({ name, document: readShared(name) as SpecDocument | undefined }));
  if (documents.some(({ document }) => document === undefined)) return undefined;
  const operations = documents.flatMap(({ name, document }) => Operation.allOf(name, document!));
  // A path that is fixed is meant before one that would take it for a variable.
  return new GatewaySpec(operations.toSorted((one, other) => one.variables - other.variables));
}

/** What a gateway documents that it takes and answers. */
export class GatewaySpec {
  readonly #operations: readonly Operation[];

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  /** What is wrong with a request, a line each; none when the gateway documents that it takes it. */
  requestProblems(request: SpecRequest): string[] {
    const [pathname = "", query = ""] = request.path.split("?");
    const operation = this.#find(request.method, pathname);
    if (operation === undefined) return [`${request.method} ${pathname}: the specification has no such operation`];
    return operation.requestProblems({ ...request, query });
  }

  /** What is wrong with an answer; none when the gateway documents that it may look like this. */
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
