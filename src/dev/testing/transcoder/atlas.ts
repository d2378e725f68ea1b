/** A server of the atlas service of atlas.proto that remembers the called rpc and its message. */
import { type DescService, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { createServiceImplSpec } from "@connectrpc/connect";
import { atlas } from "./library.ts";
import { type LibraryServer, startLibrary } from "./library-server.ts";

export type SeenCall = { readonly rpc: string; readonly request: JsonObject };

/** Starts it on a free port. `takeCall` returns the call since it was last used. */
export async function startAtlas(): Promise<LibraryServer & { takeCall(): SeenCall | undefined }> {
  let seen: SeenCall | undefined;
  const service: DescService = atlas;
  const methods = Object.fromEntries(
    service.methods.map(({ name, localName, input, output }) => [
      localName,
      (request: Message) => {
        seen = { rpc: name, request: toJson(input, request) as JsonObject };
        return input.typeName === output.typeName ? request : {};
      },
    ]),
  );
  const implementation: object = methods;
  const server = await startLibrary({ services: [createServiceImplSpec(service, implementation as never)] });
  const takeCall = () => {
    const call = seen;
    seen = undefined;
    return call;
  };
  return { ...server, takeCall };
}
