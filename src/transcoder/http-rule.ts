/** Reads the google.api.http annotation of a method. route.ts checks its paths and names. */

import { METHODS } from "node:http";
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { unreachable } from "./unreachable.ts";

/** A way to call a method over HTTP. */
export type HttpBinding = {
  /** Upper case; `*` for any. */
  readonly httpMethod: string;
  readonly path: string;
  /** A field name, `*`, or empty for none. */
  readonly body: string;
  /** A field name, or empty for the whole response. */
  readonly responseBody: string;
};

/** A wrong annotation: the process must not start with it. The message names the file and the method. */
export class HttpRuleError extends Error {
  override readonly name = "HttpRuleError";

  constructor(method: DescMethod, reason: string, options?: ErrorOptions) {
    super(`${method.parent.file.name}.proto: ${method.parent.typeName}.${method.name}: ${reason}`, options);
  }
}

/** Returns the bindings of a method, its own first; none if it has no annotation. Throws HttpRuleError. */
export function readHttpBindings(method: DescMethod): HttpBinding[] {
  if (!hasOption(method, http)) return [];
  if (method.methodKind !== "unary")
    throw new HttpRuleError(method, "a streaming method cannot be called over plain HTTP");
  const rule = getOption(method, http);
  if (rule.additionalBindings.some((additional) => additional.additionalBindings.length > 0)) {
    throw new HttpRuleError(method, "additional_bindings may not be nested");
  }
  return [rule, ...rule.additionalBindings].map((each) => readBinding(method, each));
}

function readBinding(method: DescMethod, rule: HttpRule): HttpBinding {
  const { httpMethod, path } = readPattern(method, rule);
  if (httpMethod !== "*" && !METHODS.includes(httpMethod)) {
    throw new HttpRuleError(method, `no HTTP request can have the method "${httpMethod}"`);
  }
  // CONNECT never reaches a request handler, and TRACE may not carry what a request handler needs.
  if (httpMethod === "CONNECT" || httpMethod === "TRACE") {
    throw new HttpRuleError(method, `${httpMethod} requests are not served`);
  }
  if (rule.body !== "" && (httpMethod === "GET" || httpMethod === "HEAD")) {
    throw new HttpRuleError(method, `a ${httpMethod} request has no body`);
  }
  return { httpMethod, path, body: rule.body, responseBody: rule.responseBody };
}

function readPattern(method: DescMethod, { pattern }: HttpRule): { httpMethod: string; path: string } {
  switch (pattern.case) {
    case undefined:
      throw new HttpRuleError(method, "the rule has neither a method nor a path");
    case "custom":
      return { httpMethod: pattern.value.kind, path: pattern.value.path };
    case "get":
    case "put":
    case "post":
    case "delete":
    case "patch":
      return { httpMethod: pattern.case.toUpperCase(), path: pattern.value };
    default:
      return unreachable(pattern);
  }
}
