/** What a merchant sets for its checkouts: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetSettingsResponseSchema,
  SetCheckoutOriginsResponseSchema,
  type SettingsService,
} from "../../gen/dashboard/v1/settings_pb.ts";
import { loadSettings, type MerchantSettings, recordSettings } from "../accounts/merchant-settings.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpcs that show and change what a merchant sets for its checkouts. */
export function createSettingsService(): ServiceImpl<typeof SettingsService> {
  return {
    async getSettings(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const settings = await loadSettings(environment.database, merchantId);
      return create(GetSettingsResponseSchema, { settings: toMessage(settings) });
    },

    async setCheckoutOrigins({ checkoutOrigins }, context) {
      const { merchantId, visit, change } = scopedVisitOf(context);
      requireOrigins(checkoutOrigins);
      const settings = await change(async (tx) => {
        const before = await loadSettings(tx, merchantId);
        const after = { ...before, checkoutOrigins };
        await recordSettings(tx, after);
        await visit.audit(tx, {
          subject: `${encodeId("mer", merchantId)}/settings`,
          before: { checkoutOrigins: before.checkoutOrigins },
          after: { checkoutOrigins },
        });
        return after;
      });
      return create(SetCheckoutOriginsResponseSchema, { settings: toMessage(settings) });
    },
  };
}

// As browsers write it in the Origin header, which is compared letter for letter.
function requireOrigins(origins: readonly string[]): void {
  const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
  if (origins.every(isOrigin)) return;
  throw new DomainError(
    "invalid_field",
    "An origin is scheme, host and, where it is not the usual one, port, such as https://shop.example.com.",
    { field: "checkoutOrigins" },
  );
}

function toMessage({ checkoutOrigins, sessionLifetimeMs }: MerchantSettings) {
  return { checkoutOrigins: [...checkoutOrigins], sessionLifetimeSeconds: Math.round(sessionLifetimeMs / 1_000) };
}
