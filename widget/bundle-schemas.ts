/** An esbuild plugin that drops from the RPC chunk the parts of the schemas that a browser does not need. */

import { readFile } from "node:fs/promises";
import { clearField, clone, isFieldSet } from "@bufbuild/protobuf";
import { embedFileDesc } from "@bufbuild/protobuf/codegenv2";
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_any,
  file_google_protobuf_struct,
} from "@bufbuild/protobuf/wkt";
import type { Plugin } from "esbuild";
import { file_payments_v1_checkout } from "../gen/payments/v1/checkout_pb.ts";
import { file_payments_v1_payment_session, PaymentSession_Status } from "../gen/payments/v1/payment_session_pb.ts";

/**
 * Keeps of payment_session.proto only the statuses, and of checkout.proto what the widget reads, without validation
 * rules. The rest would be a third of the chunk. A file that starts to need more of them fails the build by name.
 */
export const schemasForBrowsers: Plugin = {
  name: "schemas-for-browsers",
  setup(build) {
    build.onLoad({ filter: /\/checkout_pb\.ts$/ }, async ({ path }) => {
      const schema = `fileDesc(${encoded(readByWidget())}, [file_payments_v1_payment_session])`;
      return { loader: "ts", contents: (await readFile(path, "utf8")).replace(/fileDesc\("[^)]+\)/, schema) };
    });
    // Connect's error details need these two; the names of their packages in other languages are half of them.
    build.onLoad({ filter: /\/google\/protobuf\/(any|struct)_pb\.js$/ }, async ({ path }) => {
      const schema = path.endsWith("any_pb.js") ? file_google_protobuf_any : file_google_protobuf_struct;
      const proto = clone(FileDescriptorProtoSchema, schema.proto);
      clearField(proto, FileDescriptorProtoSchema.field.options);
      return { contents: (await readFile(path, "utf8")).replace(/(?<=fileDesc\()"[^"]+"/, encoded(proto)) };
    });
    build.onLoad({ filter: /\/payment_session_pb\.ts$/ }, () => ({
      contents: `import { fileDesc } from "@bufbuild/protobuf/codegenv2";
        export const file_payments_v1_payment_session = /* @__PURE__ */ fileDesc(${encoded(statusesAlone())});
        export const PaymentSession_Status = ${JSON.stringify(PaymentSession_Status)};`,
    }));
  },
};

/** Returns a schema as the code generator writes it. */
function encoded(proto: FileDescriptorProto): string {
  return JSON.stringify(embedFileDesc(proto).base64());
}

// Fields of answers that the widget does not read, the field that it leaves at its default, and the messages of calls
// that it makes by itself. A client ignores fields that it does not know.
const unused =
  /^(Checkout\.(session_id|expires_at|wallets)|Browser\.java_enabled|NextAction\.kind|((Open|Cancel)Action|StartWalletSession|OfferedWallet|GooglePay|(List|Use)?StoredCard|SavingOffer).*)$/i;

function readByWidget(): FileDescriptorProto {
  const proto = clone(FileDescriptorProtoSchema, file_payments_v1_checkout.proto);
  proto.dependency = [file_payments_v1_payment_session.proto.name];
  for (const service of proto.service) service.method = service.method.filter(({ name }) => !unused.test(`${name}.`));
  for (const [index, message] of proto.messageType.entries()) {
    const isUsed = ({ name }: { name: string }) => !unused.test(`${message.name}.${name}`);
    message.field = message.field.filter(isUsed);
    // The enum of a field that is left out has its name.
    message.enumType = message.enumType.filter(isUsed);
    for (const field of message.field) clearField(field, FieldDescriptorProtoSchema.field.options);
    dropPresence(message);
    if (message.field.length > 0) continue;
    // It keeps its place among others.
    message.name = `_${index}`;
    message.oneofDecl = [];
  }
  // checkout.proto has the messages that are not used last: those need no place.
  const isUsed = ({ field }: { field: unknown[] }) => field.length > 0;
  proto.messageType = proto.messageType.slice(0, proto.messageType.findLastIndex(isUsed) + 1);
  return proto;
}

/** Drops what marks a message as optional: it can be absent in any case. Texts and numbers need their mark. */
function dropPresence(message: DescriptorProto): void {
  const marks = message.oneofDecl;
  const isMarked = ({ type, proto3Optional }: FieldDescriptorProto) =>
    proto3Optional && type === FieldDescriptorProto_Type.MESSAGE;
  for (const field of message.field.filter(isMarked)) {
    clearField(field, FieldDescriptorProtoSchema.field.proto3Optional);
    clearField(field, FieldDescriptorProtoSchema.field.oneofIndex);
  }
  const inOneof = message.field.filter((field) => isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex));
  message.oneofDecl = marks.filter((_, index) => inOneof.some(({ oneofIndex }) => oneofIndex === index));
  for (const field of inOneof) field.oneofIndex = message.oneofDecl.indexOf(marks[field.oneofIndex]!);
}

function statusesAlone(): FileDescriptorProto {
  const proto = clone(FileDescriptorProtoSchema, file_payments_v1_payment_session.proto);
  proto.dependency = [];
  proto.service = [];
  proto.enumType = [];
  proto.messageType = proto.messageType.filter((message) => message.name === "PaymentSession");
  for (const message of proto.messageType) {
    message.field = [];
    message.nestedType = [];
    message.oneofDecl = [];
    message.enumType = message.enumType.filter(({ name }) => ["Status", "ExpiredBecause"].includes(name));
  }
  return proto;
}
