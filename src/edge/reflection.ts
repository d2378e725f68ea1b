/**
 * gRPC server reflection over the descriptors of the services we serve
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md).
 */
import { create, type DescFile, type DescService, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  type ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** Creates reflection by symbol and by file name. Extensions are not supported. */
export function createReflection(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
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
