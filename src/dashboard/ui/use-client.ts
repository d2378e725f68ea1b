/** A client of a service, for calls that no query makes. */
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";

export function useClient<Service extends DescService>(service: Service): Client<Service> {
  return createClient(service, useTransport());
}
