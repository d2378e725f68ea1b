/** Serves rpc implementations as a JSON API, according to their google.api.http annotations. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey, type Interceptor, type ServiceImplSpec } from "@connectrpc/connect";
import { type Call, composeInvoke, openCall } from "./call.ts";
import { compileRoutes } from "./compile-routes.ts";
import { decodeRequest } from "./decode-request.ts";
import { publicFieldJson, publicJson } from "./public-json.ts";
import { type BodyLimits, checkBodyHeaders, checkNoBody, hasNoBody, readBody } from "./request-body.ts";
import type { Route } from "./route.ts";
import { allowedMethods, findRoute, type PathMatch } from "./route-table.ts";
import { type Answer, sendAnswer } from "./send-answer.ts";
import { TranscodingError } from "./transcoding-error.ts";
import { type MessageRules, prepareValidation } from "./validation.ts";

export type TranscoderOptions = {
  /** From connect's `createServiceImplSpec`; methods without an annotation are not served. */
  readonly services: readonly ServiceImplSpec[];
  readonly limits: BodyLimits;
  /** Limits of methods whose bodies are longer. Called when the caller is known; throws to refuse. */
  readonly limitsOf?: (method: DescMethod, response: ServerResponse) => BodyLimits | undefined;
  /**
   * Runs before the body is read; throws to refuse. It stores its result in `values`, for interceptors and the
   * implementation.
   */
  readonly authenticate?: (method: DescMethod, request: IncomingMessage, values: ContextValues) => Promise<void> | void;
  /** The first is the outermost. They see valid messages only. */
  readonly interceptors?: readonly Interceptor[];
  /** Checked together with the rules of the protos. */
  readonly rules?: MessageRules;
  /** Headers that may occur once, in lower case; node would keep the first or join them. */
  readonly singleHeaders?: readonly string[];
  /** Methods that refuse a request without a body. To every other one, no body and an empty one are the empty message. */
  readonly needBody?: readonly DescMethod[];
  /** Renders every refusal: TranscodingError, and any error of `authenticate`, an interceptor or an implementation. */
  readonly renderError: (error: unknown, method: DescMethod | undefined, request: IncomingMessage) => Answer;
};

/**
 * Answers a request, or resolves to false, with nothing written, if no route has the path. Rejects only if
 * `renderError` throws.
 */
export type Transcoder = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** Set by an implementation, in its context values, to answer with another success status than 200, such as 201. */
export const statusOverrideKey = createContextKey<number | undefined>(undefined, {
  description: "HTTP success status",
});

// Headers that decide the caller and the reading of the body.
const defaultSingleHeaders = ["host", "authorization", "content-type", "content-encoding"];

/** Compiles all rules and validators. Throws HttpRuleError for a wrong rule: the process must not start with it. */
export function createTranscoder(options: TranscoderOptions): Transcoder {
  const { services, limits, limitsOf, authenticate, rules, needBody = [], renderError } = options;
  const routes = compileRoutes(services);
  const invoke = composeInvoke(options.interceptors ?? []);
  const singleHeaders = new Set(options.singleHeaders ?? defaultSingleHeaders);
  prepareValidation(services.flatMap(({ service }) => service.methods.map((method) => method.input)));

  const serve = async (route: Route, match: PathMatch, request: IncomingMessage, response: ServerResponse) => {
    checkSingleHeaders(request, singleHeaders);
    const call = openCall(route, request, response);
    await authenticate?.(route.method, request, call.context.values);
    const body = await receiveBody(route, request, limitsOf?.(route.method, response) ?? limits);
    if (body === undefined && needBody.includes(route.method))
      throw new TranscodingError("missing_body", "The request has no body. Send {} to leave out every field.");
    return answerCall(route, call, await invoke(call, decodeRequest(route, match, body, rules)));
  };

  return async (request, response) => {
    const match = routes.match(request.url!);
    if (match === undefined) return false;
    const route = findRoute(match, request.method!);
    try {
      if (route !== undefined) sendAnswer(response, await serve(route, match, request, response));
      else sendAnswer(response, answerWithoutRoute(match, request.method!));
    } catch (error) {
      const { status, headers, body } = renderError(error, route?.method, request);
      sendAnswer(response, { status, headers: { ...headers, ...transportHeaders(error) }, body });
    }
    return true;
  };
}

async function receiveBody(route: Route, request: IncomingMessage, limits: BodyLimits): Promise<Buffer | undefined> {
  if (route.body.type === "none") {
    checkNoBody(request);
    return undefined;
  }
  if (route.body.type === "message" && hasNoBody(request)) return undefined;
  checkBodyHeaders(request);
  const body = await readBody(request, limits);
  return body.length === 0 && route.body.type === "message" ? undefined : body;
}

function answerCall(route: Route, call: Call, answer: MessageShape<DescMessage>): Answer {
  const status = call.context.values.get(statusOverrideKey) ?? 200;
  return { status, headers: headerRecord(call.headersSet()), body: status === 204 ? "" : write(route, answer) };
}

function write({ method, responseField }: Route, answer: MessageShape<DescMessage>): string {
  return responseField === undefined
    ? publicJson(method.output, answer)
    : publicFieldJson(method.output, answer, responseField);
}

/** Converts headers to a record. Cookies are the one header that may not be joined with commas. */
function headerRecord(headers: Headers | undefined): Answer["headers"] {
  if (headers === undefined) return {};
  const cookies = headers.getSetCookie();
  const others = Object.fromEntries(headers);
  return cookies.length === 0 ? others : { ...others, "set-cookie": cookies };
}

/** Answers OPTIONS for every known path, unless a rule serves it, and refuses other methods. */
function answerWithoutRoute(match: PathMatch, httpMethod: string): Answer {
  const allow = allowedMethods(match);
  if (httpMethod === "OPTIONS") return { status: 204, headers: { allow: allow.join(", ") }, body: "" };
  throw new TranscodingError("method_not_allowed", `This path accepts only ${allow.join(", ")}.`, { allow });
}

function checkSingleHeaders({ rawHeaders }: IncomingMessage, singleHeaders: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (!singleHeaders.has(name)) continue;
    if (seen.has(name)) throw new TranscodingError("duplicate_header", `The header ${name} may come only once.`);
    seen.add(name);
  }
}

/** Returns the headers that HTTP itself requires for some refusals, whatever their body says. */
function transportHeaders(error: unknown): Answer["headers"] {
  if (!(error instanceof TranscodingError)) return {};
  if (error.kind === "method_not_allowed") return { allow: error.allow.join(", ") };
  // The rest of the body may still come, and nothing after it could be distinguished from it.
  return error.kind === "request_timeout" ? { connection: "close" } : {};
}
