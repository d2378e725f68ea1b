/** A merchant's checkout settings: proto ↔ accounts. The second of two concurrent changes is refused. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  SetBrakingRequest_Hold as BrakingHoldMessage,
  EraseCustomerResponseSchema,
  GetSettingsResponseSchema,
  RepeatedOrders as RepeatedOrdersMessage,
  type SettingsService,
} from "../../gen/dashboard/v1/settings_pb.ts";
import {
  loadSettings,
  type MerchantCells,
  type MerchantSettings,
  recordSettings,
} from "../accounts/merchant-settings.ts";
import { brakeMerchants } from "../core/card-testing/brake-merchants.ts";
import { type BrakingState, loadBraking, recordHold, removeHold } from "../core/card-testing/held-braking.ts";
import {
  fillOrders,
  loadRepeatedOrders,
  type RepeatedOrders,
  recordRepeatedOrders,
} from "../core/orders/repeated-orders.ts";
import { requireCell } from "../platform/cells.ts";
import type { Queryable, Tx } from "../platform/database.ts";
import { DomainError, type FieldProblem } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId } from "../platform/ids.ts";
import { isPageOrigin } from "../platform/page-origin.ts";
import { eraseByReference, eraseCustomer, eraseFromSession, hashOfErased } from "../retention/erase-customer.ts";
import { brakingMessage } from "./braking-messages.ts";
import type { DashboardEnvironment } from "./dashboard-parts.ts";
import { type ScopedContext, scopedContextOf } from "./rpc-context.ts";
import { requireRevision, revisionOf } from "./settings-revision.ts";

export function createSettingsService(): ServiceImpl<typeof SettingsService> {
  return {
    async getSettings(_request, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const settings = await loadAllSettings(environment.database, merchantId);
      return create(GetSettingsResponseSchema, {
        settings: toMessage(environment, settings),
        cells: environment.cells ? [...(await cellsOf(environment, settings))] : [],
        cell: environment.cells ? environment.cell : 0,
      });
    },

    async setCheckoutOrigins({ checkoutOrigins, revision }, context) {
      requireOrigins(checkoutOrigins);
      const settings = await changeSettings(context, revision, { checkoutOrigins });
      return { settings };
    },

    async setSessionLifetime({ sessionLifetimeSeconds, revision }, context) {
      const sessionLifetimeMs = sessionLifetimeSeconds * 1_000;
      const settings = await changeSettings(context, revision, { sessionLifetimeMs });
      return { settings };
    },

    async setStatementDescriptor({ statementDescriptor, revision }, context) {
      const wanted = { statementDescriptor: statementDescriptor === "" ? null : statementDescriptor };
      const settings = await changeSettings(context, revision, wanted);
      return { settings };
    },

    async setRepeatedOrders({ repeatedOrders, revision }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      const wanted = repeatedOrders === RepeatedOrdersMessage.REFUSE ? "REFUSE" : "WARN";
      const settings = await changeSettings(context, revision, { repeatedOrders: wanted });
      await fillOrders(rpcContext.transactingIn(environment), merchantId);
      return { settings };
    },

    async setBraking({ hold, hours }, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      if ((hold === BrakingHoldMessage.NONE) !== (hours === 0)) {
        throw new DomainError("invalid_field", "Braking is held for 1 to 168 hours; without a hold there are none.", {
          field: "hours",
        });
      }
      await change(async (tx) => {
        const parts = { database: tx, runtime: environment.core.runtime, isTest: environment.name === "test" };
        const { hold: before } = await loadBraking(tx, merchantId);
        const isOn = hold === BrakingHoldMessage.ON;
        if (hold === BrakingHoldMessage.NONE) await removeHold(tx, merchantId);
        else await recordHold(tx, { merchantId, isOn, hours, by: rpcContext.actor });
        await brakeMerchants(parts, merchantId);
        const { hold: after } = await loadBraking(tx, merchantId);
        const subject = `${encodeId("mer", merchantId)}/settings`;
        await rpcContext.audit(tx, { subject, before: auditedHold(before), after: auditedHold(after) });
      });
      const settings = toMessage(environment, await loadAllSettings(environment.database, merchantId));
      return { settings };
    },

    async eraseCustomer({ email, after, sessionId, customerRef }, context) {
      const { merchantId, environment, rpcContext } = scopedContextOf(context);
      if ([email, sessionId, customerRef].filter((name) => name !== "").length !== 1) {
        const message = "Name either an e-mail address, a session or a customer reference.";
        throw new DomainError("invalid_field", message, { field: "email" });
      }
      if (customerRef !== "") {
        const sessions = await eraseReferred(context, customerRef);
        return create(EraseCustomerResponseSchema, { sessions });
      }
      if (sessionId !== "") return create(EraseCustomerResponseSchema, await eraseOne(context, sessionId));
      const from = after === "" ? undefined : decodeId("ps", after);
      if (after !== "" && from === undefined) {
        throw new DomainError("invalid_field", "No session has this id.", { field: "after" });
      }
      const subject = `${encodeId("mer", merchantId)}/customer`;
      // A keyed hash, so that the audit trail does not keep the erased address.
      const customer = hashOfErased(environment.core.sealing, email);
      const erased = await eraseCustomer(
        rpcContext.transactingIn(environment),
        { merchantId, email, after: from },
        (tx, counts) => rpcContext.audit(tx, { subject, after: { customer, ...counts } }),
      );
      const { sessions, orderReferences, nextAfter } = erased;
      const next = nextAfter === undefined ? "" : encodeId("ps", nextAfter);
      return create(EraseCustomerResponseSchema, { sessions, orderReferences, nextAfter: next });
    },
  };
}

async function eraseReferred(context: HandlerContext, customerRef: string): Promise<number> {
  const { merchantId, environment, rpcContext } = scopedContextOf(context);
  return rpcContext.transactingIn(environment).transaction(async (tx) => {
    const sessions = await eraseByReference(tx, { merchantId, customerRef });
    const subject = `${encodeId("mer", merchantId)}/customer`;
    const customer = hashOfErased(environment.core.sealing, customerRef);
    await rpcContext.audit(tx, { subject, after: { customer, sessions } });
    return sessions;
  });
}

async function eraseOne(context: HandlerContext, named: string): Promise<{ readonly sessions: number }> {
  const { merchantId, environment, rpcContext } = scopedContextOf(context);
  const sessionId = decodeId("ps", named);
  if (sessionId === undefined) {
    throw new DomainError("invalid_field", "No session has this id.", { field: "sessionId" });
  }
  return rpcContext.transactingIn(environment).transaction(async (tx) => {
    if (!(await eraseFromSession(tx, { merchantId, sessionId }))) {
      throw new DomainError("not_found", "The merchant has no such session.");
    }
    const subject = `${encodeId("mer", merchantId)}/customer`;
    await rpcContext.audit(tx, { subject, after: { session: named, sessions: 1 } });
    return { sessions: 1 };
  });
}

/** Returns the cells that have payments of the merchant, first the one in which its sessions are created. */
async function cellsOf(
  environment: DashboardEnvironment,
  settings: MerchantSettings & MerchantCells,
): Promise<readonly number[]> {
  if (settings.movedTo === null) return [environment.cell, ...settings.formerCells];
  const next = requireCell(environment, settings.movedTo);
  return cellsOf(next, await loadSettings(next.database, settings.merchantId));
}

function auditedHold(hold: BrakingState["hold"]): object {
  return hold
    ? { braking: hold.isOn ? "ON" : "OFF", until: hold.until.toISOString() }
    : { braking: "BY_DECLINED_CARDS" };
}

export type AllSettings = MerchantSettings & {
  readonly repeatedOrders: RepeatedOrders;
  readonly braking: BrakingState;
};
export type SettingsChange = Partial<
  Pick<AllSettings, "checkoutOrigins" | "sessionLifetimeMs" | "statementDescriptor" | "repeatedOrders">
>;

export async function loadAllSettings(
  queryable: Queryable,
  merchantId: MerchantId,
): Promise<AllSettings & MerchantCells> {
  const settings = await loadSettings(queryable, merchantId);
  const repeatedOrders = await loadRepeatedOrders(queryable, merchantId);
  return { ...settings, repeatedOrders, braking: await loadBraking(queryable, merchantId) };
}

async function changeSettings(context: HandlerContext, revision: string | undefined, wanted: SettingsChange) {
  const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
  const after = await change(async (tx) => {
    const before = await loadAllSettings(tx, merchantId);
    // Saved once more after `fillOrders` gave up: the page still has the revision from before.
    const isRepeated = wanted.repeatedOrders !== undefined && wanted.repeatedOrders === before.repeatedOrders;
    if (!isRepeated) requireRevision(revision, revisedSettings(before));
    return saveSettings(tx, rpcContext, { before, wanted });
  });
  return toMessage(environment, after);
}

/** Writes the wanted settings and their audit row. */
export async function saveSettings<Before extends AllSettings>(
  tx: Tx,
  rpcContext: Pick<ScopedContext["rpcContext"], "audit">,
  { before, wanted }: { readonly before: Before; readonly wanted: SettingsChange },
): Promise<Before> {
  const { merchantId } = before;
  const changed = { ...before, ...wanted };
  await recordSettings(tx, changed);
  if (wanted.repeatedOrders) await recordRepeatedOrders(tx, merchantId, wanted.repeatedOrders);
  const earlier = Object.fromEntries(Object.keys(wanted).map((name) => [name, before[name as keyof SettingsChange]]));
  const subject = `${encodeId("mer", merchantId)}/settings`;
  await rpcContext.audit(tx, { subject, before: earlier, after: wanted });
  return changed;
}

export function requireOrigins(origins: readonly string[]): void {
  const rule = "An origin is a scheme, a host and, unless it is the default, a port, such as https://shop.example.com.";
  const problems = origins.flatMap((origin, index): FieldProblem[] => {
    if (isPageOrigin(origin)) return [];
    const param = `checkoutOrigins[${index}]`;
    return [{ param, pointer: `/checkoutOrigins/${index}`, code: "invalid_field", detail: "is not an origin" }];
  });
  if (problems.length > 0) throw new DomainError("invalid_field", rule, { field: "checkoutOrigins", problems });
}

export function revisedSettings({
  checkoutOrigins,
  sessionLifetimeMs,
  statementDescriptor,
  repeatedOrders,
}: AllSettings) {
  return [checkoutOrigins, sessionLifetimeMs, statementDescriptor, repeatedOrders];
}

function toMessage({ core }: DashboardEnvironment, settings: AllSettings) {
  const { checkoutOrigins, sessionLifetimeMs, statementDescriptor, repeatedOrders } = settings;
  return {
    checkoutOrigins: [...checkoutOrigins],
    sessionLifetimeSeconds: Math.round(sessionLifetimeMs / 1_000),
    statementDescriptor: statementDescriptor ?? "",
    repeatedOrders: RepeatedOrdersMessage[repeatedOrders],
    braking: brakingMessage(settings.braking),
    revision: revisionOf(revisedSettings(settings)),
    ...core.timing,
  };
}
