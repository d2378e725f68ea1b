/** Has the edge's requests counted, on both HTTP versions, by the rpc or the kind of page that they ask for. */
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { meterResponse, type RequestEnd, type RequestMeter, requestEndOf } from "../platform/request-meter.ts";
import type { AnyRequest, AnyResponse } from "./request-id.ts";

const services = [PaymentSessionService, CheckoutService, MetaService, Health, ServerReflection];

// What is no rpc is told by the beginning of its path.
const pages: readonly (readonly [string, string])[] = [
  ["/widget/", "widget"],
  ["/docs", "reference"],
  ["/gateway-notifications/", "notification"],
  ["/healthz", "probe"],
  ["/readyz", "probe"],
];

/** Every route that a request of the edge is counted under, besides `other`. The dashboard's rpcs are one. */
export const edgeRoutes: readonly string[] = [
  ...services.flatMap(({ methods }) => methods.map(({ name }) => name)),
  ...new Set(pages.map(([, route]) => route)),
  "dashboard",
];

const asked = new WeakMap<AnyRequest, DescMethod>();

/** Notes which rpc a request asks for, before anybody knows whether it may. */
export function noteMethod(request: AnyRequest, method: DescMethod): void {
  asked.set(request, method);
}

/** Has a request counted, once it is over. Call it first. */
export function meterRequest(meter: RequestMeter | undefined, request: AnyRequest, response: AnyResponse): void {
  if (meter === undefined) return;
  const routeOf = () => routeOfRequest(request);
  if (!("stream" in response)) {
    meterResponse(meter, response, routeOf);
    return;
  }
  const end = meter.begin();
  // Asked for now: the response forgets its stream when it closes.
  const { stream } = response as Http2ServerResponse;
  response.once("close", () => end(routeOf(), endOf(stream)));
}

function routeOfRequest(request: AnyRequest): string {
  const method = asked.get(request);
  if (method !== undefined) return method.parent.typeName.startsWith("dashboard.") ? "dashboard" : method.name;
  return pages.find(([start]) => request.url?.startsWith(start))?.[1] ?? "other";
}

// Where the fault is ours or lies in time; every other code is the caller's.
const ourFaults: readonly number[] = [
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
];

/** gRPC has its status behind the answer, or in its head where there is nothing else. */
function endOf({ sentHeaders, sentTrailers }: ServerHttp2Stream): RequestEnd {
  const status = sentTrailers?.["grpc-status"] ?? sentHeaders?.["grpc-status"];
  if (status !== undefined) {
    if (Number(status) === 0) return "2xx";
    return ourFaults.includes(Number(status)) ? "5xx" : "4xx";
  }
  const isGrpc = /^application\/grpc(?!-web)/.test(String(sentHeaders?.["content-type"]));
  const http = sentHeaders?.[":status"];
  return http === undefined || isGrpc ? "gone" : requestEndOf(Number(http));
}
