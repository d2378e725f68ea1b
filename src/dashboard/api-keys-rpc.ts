import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { ApiKey_Kind, type ApiKeyService } from "../../gen/dashboard/v1/api_keys_pb.ts";
import { type KeyKind, listKeys } from "../accounts/api-keys.ts";
import { issueKey } from "../accounts/issue-keys.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { scopedContextOf } from "./rpc-context.ts";

const kindMessages: Record<KeyKind, ApiKey_Kind> = { secret: ApiKey_Kind.SECRET, publishable: ApiKey_Kind.PUBLISHABLE };

export function createApiKeyService(parts: DashboardParts): ServiceImpl<typeof ApiKeyService> {
  return {
    async listApiKeys(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const keys = await listKeys(environment.database, merchantId);
      return {
        apiKeys: keys.map(({ kind, prefix, last4, createdAt, clear }) => ({
          kind: kindMessages[kind],
          prefix,
          last4,
          createdAt: timestampFromDate(createdAt),
          key: clear ?? "",
        })),
      };
    },

    async regenerateApiKey(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const kind = request.kind === ApiKey_Kind.SECRET ? "secret" : "publishable";
      const maker = {
        runtime: parts.runtime,
        brand: parts.brand,
        environment: environment.name,
        cell: environment.cell,
      };
      const key = await change(async (tx) => {
        const old = (await listKeys(tx, merchantId)).find((each) => each.kind === kind);
        const issued = await issueKey(tx, maker, { merchantId, kind });
        await rpcContext.audit(tx, {
          subject: encodeId("mer", merchantId),
          before: { kind, last4: old?.last4 },
          after: { kind, last4: issued.expose().slice(-4) },
        });
        return issued;
      });
      return { key: key.expose() };
    },
  };
}
