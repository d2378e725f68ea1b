/** One call of a dashboard rpc: who makes it, about which merchant in which environment, and its row in the audit trail. */
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { type AuditFact, recordAudit } from "../accounts/audit-trail.ts";
import { lockConfiguration } from "../accounts/merchant-settings.ts";
import { findMerchant } from "../accounts/merchants.ts";
import type { Queryable, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";

/** A merchant that exists, in an environment that this installation serves. */
export type Scope = { readonly merchantId: string; readonly environment: DashboardEnvironment };

/** What a request names: an environment, and a merchant unless it is about all of them. */
type RequestScope = Omit<Scope, "merchantId"> & { readonly merchantId: string | undefined };

type AuditedChange = Pick<AuditFact, "subject" | "before" | "after"> & { readonly merchantId?: string };

/** Who calls, about whom, and a pen for the audit trail. */
export class Visit {
  /** Undefined for an rpc about the installation. */
  readonly scope: RequestScope | undefined;
  readonly #parts: DashboardParts;
  readonly #who: Pick<AuditFact, "actor" | "action" | "requestId">;
  #isAudited = false;

  constructor(
    parts: DashboardParts,
    who: Pick<AuditFact, "actor" | "action" | "requestId">,
    scope: RequestScope | undefined,
  ) {
    this.#parts = parts;
    this.#who = who;
    this.scope = scope;
  }

  /** Who calls, as the audit trail names them. */
  get actor(): string {
    return this.#who.actor;
  }

  /** Writes this call's row, in the transaction of what it changes where there is one. */
  async audit(queryable: Queryable, { merchantId, ...change }: AuditedChange): Promise<void> {
    this.#isAudited = true;
    await recordAudit(queryable, this.#parts.entropy.uuid(), {
      ...this.#who,
      ...change,
      merchantId: merchantId ?? this.scope?.merchantId,
    });
  }

  /** Spares the trail the row of a call that asks again and again, and was told nothing. */
  leaveNoRow(): void {
    this.#isAudited = true;
  }

  /** Writes the row of a call whose handler had nothing to add: in its environment, or in every one. */
  async auditIfNobodyDid(): Promise<void> {
    if (this.#isAudited) return;
    const subject = this.scope?.merchantId ? encodeId("mer", this.scope.merchantId) : "installation";
    const environments = this.scope ? [this.scope.environment] : Object.values(this.#parts.environments);
    for (const { database } of environments) await this.audit(database, { subject });
  }
}

/** Set by the guard before a handler runs. */
export const visitKey = createContextKey<Visit | undefined>(undefined, { description: "dashboard visit" });

/** The call that a handler serves. */
export function visitOf(context: HandlerContext): Visit {
  const visit = context.values.get(visitKey);
  if (visit === undefined) throw new Error("a dashboard rpc was served without its guard");
  return visit;
}

/** A call about one merchant's configuration. */
export type ScopedVisit = Scope & {
  readonly visit: Visit;
  /** Runs a change in one transaction. Changes of the same merchant wait for each other, so each sees the one before. */
  readonly change: <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>;
};

/** The call with the merchant and environment that its request names. */
export function scopedVisitOf(context: HandlerContext): ScopedVisit {
  const visit = visitOf(context);
  const { merchantId, environment } = visit.scope ?? {};
  if (!merchantId || !environment) throw new Error("this rpc's request names no merchant and environment");
  return {
    merchantId,
    environment,
    visit,
    change: (work) =>
      environment.database.transaction(async (tx) => {
        await lockConfiguration(tx, merchantId);
        return work(tx);
      }),
  };
}

/** The call with the environment that its request names. */
export function environmentVisitOf(context: HandlerContext): { visit: Visit; environment: DashboardEnvironment } {
  const visit = visitOf(context);
  if (visit.scope === undefined) throw new Error("this rpc's request names no environment");
  return { visit, environment: visit.scope.environment };
}

/** What a request is about, if it names an environment. Throws `not_found` for what does not exist or is not served here. */
export async function findScope(parts: DashboardParts, message: object): Promise<RequestScope | undefined> {
  if (!("environment" in message)) return undefined;
  const environment = parts.environments[message.environment === Environment.LIVE ? "live" : "test"];
  if (environment === undefined)
    throw new DomainError("not_found", "This installation does not serve the environment.");
  if (!("merchantId" in message)) return { environment, merchantId: undefined };
  const merchantId = decodeId("mer", String(message.merchantId));
  if (merchantId === undefined || (await findMerchant(parts.accounts, merchantId)) === undefined) {
    throw new DomainError("not_found", "There is no merchant with this id.");
  }
  return { merchantId, environment };
}
