/** The internal port: gRPC for every service, with health and optional reflection; over TLS or in the clear. */
import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescFile, type DescService, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { SettlementService } from "../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../gen/payments/v1/stored_card_pb.ts";
import { internalConnections, internalHttp2 } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { refuseRepeats } from "../platform/http-head.ts";
import { type ConnectionBounds, Http2Sessions, stopSendingWhenAnswered } from "../platform/http2-sessions.ts";
import type { TlsFiles } from "../platform/tls-files.ts";
import { disputeService } from "./disputes-rpc.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { createEventService, type StreamTiming } from "./events-rpc.ts";
import { createHealthService } from "./health-rpc.ts";
import { ledgerService } from "./ledger-rpc.ts";
import { meterRequest } from "./meter-request.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { refundService } from "./refunds-rpc.ts";
import { beginRequest } from "./request-id.ts";
import { createRpcAdapter, type RpcAdapter } from "./rpc-adapter.ts";
import { sendRefusal } from "./rpc-form.ts";
import { settlementService } from "./settlement-rpc.ts";
import { createAgreementService, paymentMethodService } from "./stored-cards-rpc.ts";

export type GrpcOptions = {
  /** True if any client that can connect may read the schemas. */
  readonly reflection: boolean;
  /** If absent, the port is in the clear. */
  readonly tls?: TlsFiles | undefined;
  readonly connections?: ConnectionBounds;
  readonly eventStreams?: StreamTiming;
};

/** The internal port, with or without TLS. */
export type GrpcServer = {
  /** Resolves with the port. Rejects if it is taken. */
  listen(port: number, host: string): Promise<number>;
  connections(): number;
  /** Accepts no new call and resolves when running calls have ended, or when their time is over. */
  close(): Promise<void>;
};

const always = [
  ...[PaymentSessionService, RefundService, DisputeService, PaymentMethodService, AgreementService, LedgerService],
  ...[SettlementService, EventService, CheckoutService, MetaService, Health],
];

/** Creates the internal server; the caller listens and closes. */
export function createGrpcServer(parts: EdgeParts, options: GrpcOptions): GrpcServer {
  const guarded = options.reflection ? [...always, ServerReflection] : always;
  const rpc = createRpcAdapter(parts, { route: (router) => route(parts, options, router), guarded, grpc: true });
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse) =>
    void answer(parts, rpc, request, response);
  const server = options.tls
    ? createSecureServer({ ...internalHttp2, ...options.tls.serverOptions() }, handle)
    : createServer(internalHttp2, handle);
  const sessions = new Http2Sessions(server as Http2Server, options.connections ?? internalConnections);
  const stopRenewing = "setSecureContext" in server ? options.tls?.renew(server) : undefined;
  return {
    async listen(port, host) {
      server.listen(port, host);
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    connections: () => sessions.size,
    close() {
      stopRenewing?.();
      return sessions.close();
    },
  };
}

function route(parts: EdgeParts, { reflection, eventStreams }: GrpcOptions, router: ConnectRouter): void {
  const served = [...always, ...parts.guestServices.services];
  router.service(PaymentSessionService, paymentSessionService);
  router.service(RefundService, refundService);
  router.service(DisputeService, disputeService);
  router.service(PaymentMethodService, paymentMethodService);
  router.service(AgreementService, createAgreementService(parts.apiOrigin));
  router.service(LedgerService, ledgerService);
  router.service(SettlementService, settlementService);
  router.service(EventService, createEventService(parts, eventStreams));
  router.service(MetaService, createMetaService(parts.meta));
  parts.routeCheckout(router);
  parts.guestServices.route(router);
  const names = served.map(({ typeName }) => typeName);
  router.service(Health, createHealthService(names, parts));
  if (reflection) router.service(ServerReflection, createReflection([...served, ServerReflection]));
}

// A host with an optional port, as in RFC 9113 8.3.1.
const authorityPattern = /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

async function answer(
  parts: EdgeParts,
  rpc: RpcAdapter,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  const requestId = beginRequest(parts.runtime, request, response);
  meterRequest(parts.meter, request, response);
  stopSendingWhenAnswered(response.stream);
  try {
    if (!authorityPattern.test(request.authority ?? "") || !URL.canParse(`http://${request.authority}`)) {
      throw new DomainError("invalid_parameter", "The :authority must name a host.", { field: "Host" });
    }
    refuseRepeats(request.rawHeaders);
    if (!(await rpc(request, response))) throw new DomainError("method_not_allowed", "There is no such rpc.");
  } catch (error) {
    if (!(error instanceof DomainError)) parts.reportBug(error, requestId);
    if (!(error instanceof DomainError) || response.headersSent) response.stream.close();
    else {
      parts.meter?.refused(error.code);
      sendRefusal(parts.style, request, response, error);
    }
  }
}

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/**
 * Creates reflection (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md) by symbol and by file name.
 * Extensions are not supported.
 */
function createReflection(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
  const files = new Map<string, DescFile>();
  for (const service of services) collect(service.file, files);
  const encoded = (file: DescFile) =>
    toBinary(FileDescriptorProtoSchema, { ...file.proto, name: `${file.name}.proto` });
  const byName = new Map([...files.values()].map((file) => [`${file.name}.proto`, file]));
  const bySymbol = new Map([...files.values()].flatMap((file) => symbolsOf(file).map((name) => [name, file] as const)));

  const answer = (request: ServerReflectionRequest): Answer => {
    const { case: kind, value } = request.messageRequest;
    if (kind === "listServices") {
      const names = services.map((service) => ({ name: service.typeName }));
      return { case: "listServicesResponse", value: { service: names } };
    }
    const file = kind === "fileByFilename" ? byName.get(value) : bySymbol.get(String(value));
    if (file === undefined) {
      return { case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage: "not found" } };
    }
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto: [encoded(file)] } };
  };

  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield create(ServerReflectionResponseSchema, {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answer(request),
        });
      }
    },
  };
}

function collect(file: DescFile, files: Map<string, DescFile>): void {
  if (files.has(file.name)) return;
  files.set(file.name, file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

function symbolsOf(file: DescFile): string[] {
  const services = file.services.flatMap((service) => [
    service.typeName,
    ...service.methods.map((method) => `${service.typeName}.${method.name}`),
  ]);
  return [...services, ...file.messages.map(({ typeName }) => typeName), ...file.enums.map(({ typeName }) => typeName)];
}
