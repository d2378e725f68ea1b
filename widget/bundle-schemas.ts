/** An esbuild plugin that drops from the RPC chunk the parts of the schemas that a browser does not need. */

import { clone, create, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "esbuild";
import { file_payments_v1_payment_session, PaymentSession_Status } from "../gen/payments/v1/payment_session_pb.ts";

/**
 * Keeps of payment_session.proto only the statuses. The rest, and the validation rules that it and checkout.proto refer
 * to, would be a third of the chunk. A file that starts to need more of them fails the build by name.
 */
export const schemasForBrowsers: Plugin = {
  name: "schemas-for-browsers",
  setup(build) {
    build.onLoad({ filter: /\/buf\/validate\/validate_pb\.js$/ }, () => ({
      contents: schemaModule("file_buf_validate_validate", noRules()),
    }));
    build.onLoad({ filter: /\/payment_session_pb\.ts$/ }, () => ({
      contents: `${schemaModule("file_payments_v1_payment_session", statusesAlone())}
        export const PaymentSession_Status = ${JSON.stringify(PaymentSession_Status)};`,
    }));
  },
};

/** Returns the code generator's output for a file without messages. */
function schemaModule(exported: string, proto: FileDescriptorProto): string {
  const encoded = base64Encode(toBinary(FileDescriptorProtoSchema, proto));
  return `import { fileDesc } from "@bufbuild/protobuf/codegenv2";
    export const ${exported} = /* @__PURE__ */ fileDesc(${JSON.stringify(encoded)});`;
}

function noRules(): FileDescriptorProto {
  return create(FileDescriptorProtoSchema, { name: "buf/validate/validate.proto", syntax: "proto3" });
}

function statusesAlone(): FileDescriptorProto {
  const proto = clone(FileDescriptorProtoSchema, file_payments_v1_payment_session.proto);
  proto.dependency = [];
  proto.service = [];
  proto.messageType = proto.messageType.filter((message) => message.name === "PaymentSession");
  for (const message of proto.messageType) {
    message.field = [];
    message.oneofDecl = [];
  }
  return proto;
}
