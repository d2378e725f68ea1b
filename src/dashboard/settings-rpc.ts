/** What a merchant sets for its checkouts: proto ↔ accounts. The second of two people who change it at once is told so. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  EraseCustomerResponseSchema,
  GetSettingsResponseSchema,
  SetCheckoutOriginsResponseSchema,
  SetSessionLifetimeResponseSchema,
  type SettingsService,
} from "../../gen/dashboard/v1/settings_pb.ts";
import { loadSettings, type MerchantSettings, recordSettings } from "../accounts/merchant-settings.ts";
import { eraseCustomer, hashOfErased } from "../core/erase-customer.ts";
import { DomainError, type FieldProblem } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { sha256 } from "../platform/secrets.ts";
import type { DashboardEnvironment } from "./dashboard-parts.ts";
import { scopedVisitOf } from "./visit.ts";

/** The rpcs that show and change what a merchant sets for its checkouts. */
export function createSettingsService(): ServiceImpl<typeof SettingsService> {
  return {
    async getSettings(_request, context) {
      const { merchantId, environment } = scopedVisitOf(context);
      const settings = await loadSettings(environment.database, merchantId);
      return create(GetSettingsResponseSchema, { settings: toMessage(environment, settings) });
    },

    async setCheckoutOrigins({ checkoutOrigins, revision }, context) {
      requireOrigins(checkoutOrigins);
      const settings = await changeSettings(context, revision, { checkoutOrigins });
      return create(SetCheckoutOriginsResponseSchema, { settings });
    },

    async setSessionLifetime({ sessionLifetimeSeconds, revision }, context) {
      const sessionLifetimeMs = sessionLifetimeSeconds * 1_000;
      const settings = await changeSettings(context, revision, { sessionLifetimeMs });
      return create(SetSessionLifetimeResponseSchema, { settings });
    },

    async eraseCustomer({ email, after }, context) {
      const { merchantId, environment, visit } = scopedVisitOf(context);
      const from = after === "" ? undefined : decodeId("ps", after);
      if (after !== "" && from === undefined) {
        throw new DomainError("invalid_field", "It names no session.", { field: "after" });
      }
      const erased = await eraseCustomer(environment.database, { merchantId, email, after: from });
      const { sessions, orderReferences, nextAfter } = erased;
      const subject = `${encodeId("mer", merchantId)}/customer`;
      // By a hash with a key, so that the trail does not keep what was erased.
      const customer = hashOfErased(environment.core.sealing, email);
      await visit.audit(environment.database, { subject, after: { customer, sessions, orderReferences } });
      const next = nextAfter === undefined ? "" : encodeId("ps", nextAfter);
      return create(EraseCustomerResponseSchema, { sessions, orderReferences, nextAfter: next });
    },
  };
}

type Change = Partial<Pick<MerchantSettings, "checkoutOrigins" | "sessionLifetimeMs">>;

async function changeSettings(context: HandlerContext, revision: string | undefined, wanted: Change) {
  const { merchantId, environment, visit, change } = scopedVisitOf(context);
  const after = await change(async (tx) => {
    const before = await loadSettings(tx, merchantId);
    if (revision !== undefined && revision !== revisionOf(before)) {
      throw new DomainError(
        "state_conflict",
        "Somebody has changed the settings meanwhile. Look at them, then repeat.",
      );
    }
    const changed = { ...before, ...wanted };
    await recordSettings(tx, changed);
    const earlier = Object.fromEntries(Object.keys(wanted).map((name) => [name, before[name as keyof Change]]));
    const subject = `${encodeId("mer", merchantId)}/settings`;
    await visit.audit(tx, { subject, before: earlier, after: wanted });
    return changed;
  });
  return toMessage(environment, after);
}

// As browsers write it in the Origin header, which is compared letter for letter.
const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

function requireOrigins(origins: readonly string[]): void {
  const rule = "An origin is scheme, host and, where it is not the usual one, port, such as https://shop.example.com.";
  const problems = origins.flatMap((origin, index): FieldProblem[] => {
    if (isOrigin(origin)) return [];
    const param = `checkoutOrigins[${index}]`;
    return [{ param, pointer: `/checkoutOrigins/${index}`, code: "invalid_field", detail: "is no origin" }];
  });
  if (problems.length > 0) throw new DomainError("invalid_field", rule, { field: "checkoutOrigins", problems });
}

function revisionOf({ checkoutOrigins, sessionLifetimeMs }: MerchantSettings): string {
  return sha256(JSON.stringify([checkoutOrigins, sessionLifetimeMs])).toString("base64url");
}

function toMessage({ core }: DashboardEnvironment, settings: MerchantSettings) {
  const { checkoutOrigins, sessionLifetimeMs } = settings;
  return {
    checkoutOrigins: [...checkoutOrigins],
    sessionLifetimeSeconds: Math.round(sessionLifetimeMs / 1_000),
    revision: revisionOf(settings),
    ...core.timing,
  };
}
