/** The internal port: gRPC over h2c for every service, with health and reflection. */
import { createServer, type Http2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { bodyBytesMax } from "../limits.ts";
import { requestIdKey } from "./caller.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { createReflection } from "./reflection.ts";
import { beginRequest, requestIdOf } from "./request-id.ts";
import { createRpcGuard } from "./rpc-guard.ts";

const served = [PaymentSessionService, CheckoutService, MetaService, Health, ServerReflection];

/** Makes the internal server; the caller listens and closes. */
export function createGrpcServer(parts: EdgeParts): Http2Server {
  const rpc = connectNodeAdapter({
    routes: (router) => route(parts, router),
    readMaxBytes: bodyBytesMax,
    jsonOptions: { ignoreUnknownFields: false },
    interceptors: [createRpcGuard(parts)],
    contextValues: (request) => createContextValues().set(requestIdKey, requestIdOf(request)),
  });
  return createServer((request, response) => answer(parts, rpc, request, response));
}

function route(parts: EdgeParts, router: ConnectRouter): void {
  router.service(PaymentSessionService, paymentSessionService);
  router.service(MetaService, createMetaService(parts.meta));
  parts.routeCheckout(router);
  parts.guestServices.route(router);
  router.service(Health, {
    check: async () => ({ status: (await parts.isReady()) ? Serving.SERVING : Serving.NOT_SERVING }),
  });
  router.service(ServerReflection, createReflection([...served, ...parts.guestServices.services]));
}

// The adapter throws on a malformed :authority; that ends the one stream, not the process.
function answer(
  parts: EdgeParts,
  rpc: ReturnType<typeof connectNodeAdapter>,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): void {
  const requestId = beginRequest(parts.entropy, request, response);
  try {
    rpc(request, response);
  } catch (error) {
    parts.reportBug(error, requestId);
    response.stream.close();
  }
}
