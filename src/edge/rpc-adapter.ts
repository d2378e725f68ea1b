/** Joins Connect's handlers to node's servers, of HTTP/1.1 and HTTP/2: as Connect's own adapter, with strict JSON. */
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { bodyBytesMax } from "../limits.ts";
import { requestIdKey, tellLimitsKey } from "./caller.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { type AnyRequest, type AnyResponse, requestIdOf, setAnswerHeaders } from "./request-id.ts";
import { createRpcGuard } from "./rpc-guard.ts";
import { isJsonMessage, readJsonMessage } from "./strict-connect-json.ts";

/** Answers a call; false, with nothing read or written, when there is no such rpc. May reject with what broke. */
export type RpcAdapter = (request: AnyRequest, response: AnyResponse) => Promise<boolean>;

/** An adapter for the routes. The JSON of `guarded` services is read strictly: their guard is the edge's own. */
export function createRpcAdapter(
  parts: EdgeParts,
  options: { route: (router: ConnectRouter) => void; guarded: readonly DescService[]; grpc: boolean },
): RpcAdapter {
  const router = createConnectRouter({
    grpc: options.grpc,
    readMaxBytes: bodyBytesMax,
    jsonOptions: { ignoreUnknownFields: false },
    acceptCompression: [compressionGzip, compressionBrotli],
    interceptors: [createRpcGuard(parts)],
  });
  options.route(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const guarded = new Set(options.guarded.map((service) => service.typeName));

  return async (request, response) => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) return false;
    const { method, service } = handler;
    const values = createContextValues()
      .set(requestIdKey, requestIdOf(request))
      .set(tellLimitsKey, (fields) => setAnswerHeaders(request, fields));
    const isStrict = guarded.has(service.typeName) && method.methodKind === "unary" && isJsonMessage(request);
    const json = isStrict ? await readJsonMessage(method, request, values) : undefined;
    const call = universalRequestFromNodeRequest(request as never, response as never, json, values);
    try {
      await universalResponseToNodeResponse(await handler(call), response as never);
    } catch (error) {
      // The client went away while its answer was written.
      if (ConnectError.from(error).code !== Code.Aborted) throw error;
    }
    return true;
  };
}
