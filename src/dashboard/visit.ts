/** One call of a dashboard rpc: who makes it, about which merchant in which environment, and its row in the audit trail. */
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { type AuditFact, recordAudit, recordMemberAudit } from "../accounts/audit-trail.ts";
import type { Member } from "../accounts/members.ts";
import { lockConfiguration } from "../accounts/merchant-settings.ts";
import { findMerchant } from "../accounts/merchants.ts";
import type { SignIn } from "../accounts/sign-ins.ts";
import type { Queryable, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";

/** A merchant that exists, in an environment that this installation serves. */
export type Scope = { readonly merchantId: string; readonly environment: DashboardEnvironment };

/** Who calls, and how the audit trail names it. */
type Who = Pick<AuditFact, "actor" | "action" | "requestId"> & { readonly signIn: SignIn | undefined };

/** What a request names: an environment, a merchant, or both. */
export type RequestScope = { readonly [Part in keyof Scope]: Scope[Part] | undefined };

type AuditedChange = Pick<AuditFact, "subject" | "before" | "after"> & {
  readonly merchantId?: string;
  /** Whose account it is about too. */
  readonly memberId?: string;
  /** Whoever a call turned out to be from that nobody was signed in for. */
  readonly actor?: string;
};

/** Who calls, about whom, and a pen for the audit trail. */
export class Visit {
  /** Undefined for an rpc about the installation. */
  readonly scope: RequestScope | undefined;
  readonly #parts: DashboardParts;
  readonly #who: Who;
  #isAudited = false;

  constructor(parts: DashboardParts, who: Who, scope: RequestScope | undefined) {
    this.#parts = parts;
    this.#who = who;
    this.scope = scope;
  }

  /** The member who calls. Throws for an operator: the guard lets none of them to an rpc that asks. */
  get signIn(): SignIn {
    if (this.#who.signIn === undefined) throw new Error("this rpc is for members");
    return this.#who.signIn;
  }

  get requestId(): string {
    return this.#who.requestId;
  }

  /** Who calls, as the audit trail names them. */
  get actor(): string {
    return this.#who.actor;
  }

  /** Writes this call's row, in the transaction of what it changes where there is one. */
  async audit(queryable: Queryable, { merchantId, ...change }: AuditedChange): Promise<void> {
    this.#isAudited = true;
    const { signIn: _, ...who } = this.#who;
    await recordAudit(queryable, this.#parts.entropy.uuid(), {
      ...who,
      ...change,
      merchantId: merchantId ?? this.scope?.merchantId,
    });
  }

  /** Writes this call's row about a member's own account: for them, and for the owners of their merchants. */
  async auditMember(
    tx: Tx,
    member: Member,
    change: Pick<AuditedChange, "before" | "after" | "actor"> = {},
  ): Promise<void> {
    this.#isAudited = true;
    const { signIn: _, ...who } = this.#who;
    const about = { memberId: member.id, subject: encodeId("mbr", member.id) };
    await recordMemberAudit(tx, this.#parts.entropy, { ...who, ...about, ...change });
  }

  /** Spares the trail the row of a call that asks again and again, and was told nothing. */
  leaveNoRow(): void {
    this.#isAudited = true;
  }

  /** Writes the row of a call whose handler had nothing to add: in its environment, or where both sides have theirs. */
  async auditIfNobodyDid(): Promise<void> {
    if (this.#isAudited) return;
    const subject = this.scope?.merchantId ? encodeId("mer", this.scope.merchantId) : "installation";
    await this.audit(this.scope?.environment?.database ?? this.#parts.accounts, { subject });
  }
}

/** Set by the guard before a handler runs. */
export const visitKey = createContextKey<Visit | undefined>(undefined, { description: "dashboard visit" });

/** A member as the audit trail names them. */
export function memberActor({ id, email }: Member): string {
  return `${email} (${encodeId("mbr", id)})`;
}

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
  if (!visit.scope?.environment) throw new Error("this rpc's request names no environment");
  return { visit, environment: visit.scope.environment };
}

/** The call with the merchant that its request names, in both environments. */
export function merchantVisitOf(context: HandlerContext): { visit: Visit; merchantId: string } {
  const visit = visitOf(context);
  if (!visit.scope?.merchantId) throw new Error("this rpc's request names no merchant");
  return { visit, merchantId: visit.scope.merchantId };
}

/** What a request is about, if it names an environment or a merchant. Throws `not_found` for what does not exist or is not served here. */
export async function findScope(parts: DashboardParts, message: object): Promise<RequestScope | undefined> {
  if (!("environment" in message) && !("merchantId" in message)) return undefined;
  return {
    environment: "environment" in message ? environmentOf(parts, message.environment) : undefined,
    merchantId: "merchantId" in message ? await merchantOf(parts, message.merchantId) : undefined,
  };
}

function environmentOf(parts: DashboardParts, named: unknown): DashboardEnvironment {
  const environment = parts.environments[named === Environment.LIVE ? "live" : "test"];
  if (environment === undefined)
    throw new DomainError("not_found", "This installation does not serve the environment.");
  return environment;
}

async function merchantOf(parts: DashboardParts, named: unknown): Promise<string> {
  const merchantId = decodeId("mer", String(named));
  if (merchantId === undefined || (await findMerchant(parts.accounts, merchantId)) === undefined)
    throw noSuchMerchant();
  return merchantId;
}

/** Also for one that the caller is no member of, so that nobody learns which exist. */
export function noSuchMerchant(): DomainError {
  return new DomainError("not_found", "There is no merchant with this id.");
}
