/** The library service of library.proto, compiled when a test begins, and variations of it with another rule. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
  clone,
  create,
  createFileRegistry,
  type DescMessage,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  MethodDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { createServiceImplSpec, type ServiceImpl, type ServiceImplSpec } from "@connectrpc/connect";
import { http } from "../../../../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../../../gen/google/api/http_pb.ts";

type Untyped = Partial<ServiceImpl<DescService>>;

const files = compileProto();
const registry = createFileRegistry(files);

const library: DescService = registry.getService("library.v1.LibraryService")!;

export const atlas: DescService = registry.getService("atlas.v1.AtlasService")!;

export function libraryMessage(name: string): DescMessage {
  return registry.getMessage(`library.v1.${name}`)!;
}

export function implementLibrary(methods: object): ServiceImplSpec {
  return createServiceImplSpec(library, methods as Untyped);
}

export function echo(request: Message): Message {
  return request;
}

/** A service of one method with this rule, from `input` to `output` (messages by their full names). */
export function serviceWithRule(
  rule: MessageInitShape<typeof HttpRuleSchema>,
  method: { input?: string; output?: string; serverStreaming?: boolean } = {},
): ServiceImplSpec {
  const changed = clone(FileDescriptorSetSchema, files);
  const file = changed.file.find((each) => each.package === "library.v1")!;
  const options = create(MethodOptionsSchema);
  setExtension(options, http, create(HttpRuleSchema, rule));
  file.service[0]!.method = [
    create(MethodDescriptorProtoSchema, {
      name: "Try",
      inputType: `.${method.input ?? "library.v1.Book"}`,
      outputType: `.${method.output ?? "library.v1.Book"}`,
      serverStreaming: method.serverStreaming ?? false,
      options,
    }),
  ];
  const service = createFileRegistry(changed).getService("library.v1.LibraryService")!;
  const methods: object = { try: echo };
  return createServiceImplSpec(service, methods as Untyped);
}

function compileProto(): FileDescriptorSet {
  const root = join(import.meta.dirname, "../../../..");
  const modules = [{ path: "proto" }, { path: "src/dev/testing/transcoder" }];
  const image = execFileSync(
    join(root, "node_modules/.bin/buf"),
    [
      "build",
      "--config",
      JSON.stringify({ version: "v2", modules }),
      "--path",
      "src/dev/testing/transcoder/library.proto",
      "--path",
      "src/dev/testing/transcoder/atlas.proto",
      "-o",
      "-",
    ],
    { cwd: root },
  );
  return fromBinary(FileDescriptorSetSchema, image);
}
