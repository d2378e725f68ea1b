/** Services of this checkout with the comments of their .proto files, compiled when a test begins. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type AnyDesc, createFileRegistry, type DescService, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { getComments } from "@bufbuild/protoplugin";

/** Compiles the files below a path of the checkout and returns the services by their full names. */
export function describedServices(protoPath: string, names: readonly string[]): DescService[] {
  const root = join(import.meta.dirname, "../../../..");
  const modules = [{ path: "proto" }, { path: "src/dev/testing/transcoder" }];
  const image = execFileSync(
    join(root, "node_modules/.bin/buf"),
    ["build", "--config", JSON.stringify({ version: "v2", modules }), "--path", protoPath, "-o", "-"],
    { cwd: root },
  );
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  return names.map((name) => registry.getService(name)!);
}

export function commentOf(desc: AnyDesc): string {
  if (desc.kind === "file") return "";
  return (getComments(desc).leading ?? "").replaceAll(/^ /gm, "").trim();
}
