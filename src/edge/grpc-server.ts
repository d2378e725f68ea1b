/** The internal port: gRPC over h2c for every service, with health and reflection. */
import { createServer, type Http2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { ConnectRouter } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { createReflection } from "./reflection.ts";
import { beginRequest } from "./request-id.ts";
import { createRpcAdapter, type RpcAdapter } from "./rpc-adapter.ts";

const served = [PaymentSessionService, CheckoutService, MetaService, Health, ServerReflection];

/** Makes the internal server; the caller listens and closes. */
export function createGrpcServer(parts: EdgeParts): Http2Server {
  const rpc = createRpcAdapter(parts, { route: (router) => route(parts, router), guarded: served, grpc: true });
  return createServer((request, response) => void answer(parts, rpc, request, response));
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

// The adapter rejects on a malformed :authority; that ends the one stream, not the process.
async function answer(
  parts: EdgeParts,
  rpc: RpcAdapter,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  const requestId = beginRequest(parts.entropy, request, response);
  try {
    if (!(await rpc(request, response))) response.writeHead(404).end();
  } catch (error) {
    parts.reportBug(error, requestId);
    response.stream.close();
  }
}
