/** Counts the edge's requests, on both HTTP versions, by rpc or kind of page. */
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { SettlementService } from "../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../gen/payments/v1/stored_card_pb.ts";
import { meterResponse, type RequestEnd, type RequestMeter, requestEndOf } from "../platform/request-meter.ts";
import type { AnyRequest, AnyResponse } from "./request-id.ts";

const services = [
  PaymentSessionService,
  RefundService,
  DisputeService,
  PaymentMethodService,
  AgreementService,
  LedgerService,
  SettlementService,
  EventService,
  CheckoutService,
  MetaService,
  Health,
  ServerReflection,
];

// Requests that are no rpc are classified by the beginning of their path.
const pages: readonly (readonly [string, string])[] = [
  ["/widget/", "widget"],
  ["/docs", "reference"],
  ["/gateway-notifications/", "notification"],
  ["/authentication/", "authentication"],
  ["/healthz", "probe"],
  ["/readyz", "probe"],
];

/** Every route that a request of the edge is counted under, besides `other`. The dashboard's rpcs are one. */
export const edgeRoutes: readonly string[] = [
  ...services.flatMap(({ methods }) => methods.map(({ name }) => name)),
  ...new Set(pages.map(([, route]) => route)),
  "dashboard",
];

const methods = new WeakMap<AnyRequest, DescMethod>();

/** Records the requested rpc, before it is authorized. */
export function noteMethod(request: AnyRequest, method: DescMethod): void {
  methods.set(request, method);
}

/** Counts a request once it has ended. Call it first. */
export function meterRequest(meter: RequestMeter | undefined, request: AnyRequest, response: AnyResponse): void {
  if (meter === undefined) return;
  const routeOf = () => routeOfRequest(request);
  if (!("stream" in response)) {
    meterResponse(meter, response, routeOf);
    return;
  }
  const end = meter.begin();
  // Read now: the response forgets its stream when it closes.
  const { stream } = response as Http2ServerResponse;
  response.once("close", () => end(routeOf(), endOf(stream)));
}

function routeOfRequest(request: AnyRequest): string {
  const method = methods.get(request);
  if (method !== undefined) return method.parent.typeName.startsWith("dashboard.") ? "dashboard" : method.name;
  return pages.find(([start]) => request.url?.startsWith(start))?.[1] ?? "other";
}

// Codes where the fault is ours or a matter of time; every other code is the caller's.
const ourFaults: readonly number[] = [
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
];

/** Returns the end of a gRPC call: its status is in the trailers, or in the headers if there are no trailers. */
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
