/** The context of a dashboard call: its caller, its merchant and environment, and its row in the audit trail. */
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { type AuditFact, recordAudit, recordMemberAudit } from "../accounts/audit-trail.ts";
import { lockTeam, type Member } from "../accounts/members.ts";
import { findSettings, lockConfiguration } from "../accounts/merchant-settings.ts";
import { findMerchant, type Merchant } from "../accounts/merchants.ts";
import type { SignIn } from "../accounts/sign-ins.ts";
import { cellOf, findCell, firstCell, requireCell } from "../platform/cells.ts";
import type { Queryable, Transacting, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MemberId, type MerchantId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts, ServedParts } from "./dashboard-parts.ts";

/** A merchant that exists, in an environment that this installation serves. */
export type Scope = { readonly merchantId: MerchantId; readonly environment: DashboardEnvironment };

type Who = Pick<AuditFact, "actor" | "action" | "requestId"> & {
  readonly signIn: SignIn | undefined;
  /** The second person, of a call that waited for one. */
  readonly approvedBy?: string;
};

/** Throws unless the caller may still make this call; the right then holds until the transaction ends. */
export type RequireRight = (accounts: Tx) => Promise<void>;

type Run<Result> = (tx: Tx) => Promise<Result>;

/** The approval that a call's transactions need. Only calls of a merchant that wants a second person have it. */
export type Gate = {
  /** Runs before the changes of each transaction, of an environment or of the accounts. Throws to undo it. */
  readonly before: (tx: Tx, database: "environment" | "accounts") => Promise<void>;
  /** Records, in a transaction of the accounts, that the call runs now. Throws if it must not. */
  readonly claim?: (accounts: Tx) => Promise<void>;
  /** Runs after the changes of each transaction. Throws to undo it. */
  readonly after?: (tx: Tx) => Promise<void>;
};

/** The scope that a request names: an environment, a merchant, or both. */
export type RequestScope = { readonly [Part in keyof Scope]: Scope[Part] | undefined };

type AuditedChange = Pick<AuditFact, "subject" | "before" | "after"> & {
  readonly merchantId?: MerchantId;
  /** The member whose account the change concerns too. */
  readonly memberId?: MemberId;
  /** The actor of a call that arrived without a sign-in, once it is known. */
  readonly actor?: string;
};

/**
 * The caller and scope of a call, and the only way to change anything. Each transaction of a call checks its caller's
 * right again, because it may have been revoked since the call arrived. The right then stays until the transaction is
 * durable.
 */
export class RpcContext {
  /** Undefined for an rpc about the installation. */
  readonly scope: RequestScope | undefined;
  readonly #parts: ServedParts;
  readonly #who: Who;
  readonly #requireRight: RequireRight;
  readonly #gate: Gate | undefined;
  readonly #changes = new WeakSet<Tx>();
  #isAudited = false;
  #isConfirmed = false;

  constructor(
    parts: ServedParts,
    who: Who,
    options: { scope: RequestScope | undefined; requireRight: RequireRight; gate?: Gate | undefined },
  ) {
    this.#parts = parts;
    this.#who = who;
    this.#requireRight = options.requireRight;
    this.#gate = options.gate;
    this.scope = options.scope;
  }

  /** Returns the context of a call that this one runs for another member. Both rights are checked. */
  runFor(who: Who, options: { scope: RequestScope | undefined; requireRight: RequireRight; gate: Gate }): RpcContext {
    const { merchantId } = this.scope ?? {};
    const requireRight = async (accounts: Tx) => {
      // Before both memberships, so that two members who approve calls of each other never wait in a circle.
      if (merchantId !== undefined) await lockTeam(accounts, merchantId);
      await this.#requireRight(accounts);
      await options.requireRight(accounts);
    };
    return new RpcContext(this.#parts, who, { ...options, requireRight });
  }

  /** The calling member. Throws for an operator: the guard admits none to an rpc that uses this. */
  get signIn(): SignIn {
    if (this.#who.signIn === undefined) throw new Error("this rpc is for members");
    return this.#who.signIn;
  }

  /** True if the caller is a member, not an operator. */
  get isMember(): boolean {
    return this.#who.signIn !== undefined;
  }

  get requestId(): string {
    return this.#who.requestId;
  }

  get actor(): string {
    return this.#who.actor;
  }

  /**
   * Runs a change of the accounts in one transaction. The right is checked before it, behind the lock of the merchant's
   * team: a check afterwards would see a change of one's own role.
   */
  async changeAccounts<Result>(work: Run<Result>): Promise<Result> {
    const merchantId = this.scope?.merchantId;
    const result = await this.#parts.accounts.transaction(async (tx) => {
      if (merchantId !== undefined) await lockTeam(tx, merchantId);
      await this.#requireRight(tx);
      this.#changes.add(tx);
      await this.#gate?.before(tx, "accounts");
      await this.#gate?.claim?.(tx);
      const worked = await work(tx);
      await this.#gate?.after?.(tx);
      return worked;
    });
    this.#isConfirmed = true;
    return result;
  }

  /**
   * Runs a change of an environment in one transaction. The right is checked last and held until the change is durable,
   * so that the accounts connection and its locks are not held while the change waits for others.
   */
  async changeEnvironment<Result>({ name, cell }: DashboardEnvironment, work: Run<Result>): Promise<Result> {
    const result = await requireCell(this.#parts.environments[name]!, cell).database.transaction(
      async (tx) => {
        this.#changes.add(tx);
        await this.#gate?.before(tx, "environment");
        const worked = await work(tx);
        await this.#gate?.after?.(tx);
        return worked;
      },
      (commit) => this.#commitByRight(commit),
    );
    this.#isConfirmed = true;
    return result;
  }

  async #commitByRight(commit: () => Promise<void>): Promise<void> {
    const { claim } = this.#gate ?? {};
    if (claim !== undefined) {
      // Durable before the change: if the change then fails, the call never runs a second time.
      await this.#parts.accounts.transaction(async (accounts) => {
        await this.#requireRight(accounts);
        await claim(accounts);
      });
    }
    let commits: Promise<void> | undefined;
    let isDurable = false;
    try {
      await this.#parts.accounts.transaction(async (accounts) => {
        await this.#requireRight(accounts);
        // Once, even if this function is retried: after a failed commit a second one would pass for a success.
        commits ??= commit();
        await commits;
        isDurable = true;
      });
    } catch (error) {
      // Only the locks remained to be released, which a broken connection does too.
      if (!isDurable) throw error;
    }
  }

  /** Returns the database for code that changes by itself; its transactions are changes of this call. */
  transactingIn(environment: DashboardEnvironment): Transacting {
    return {
      query: (statement, values) => environment.database.query(statement, values),
      transaction: (work) => this.changeEnvironment(environment, work),
    };
  }

  /** Writes this call's audit row, in the transaction of its change. */
  async audit(tx: Tx, change: AuditedChange): Promise<void> {
    this.#requireChange(tx);
    await this.#record(tx, change);
  }

  /** Refuses an audit row for a change that bypassed the check of the caller's right. */
  #requireChange(tx: Tx): void {
    if (!this.#changes.has(tx)) throw new Error("a row of the audit trail is written in a change of its call");
  }

  async #record(queryable: Queryable, { merchantId, ...change }: AuditedChange): Promise<void> {
    this.#isAudited = true;
    const { signIn: _, approvedBy, ...who } = this.#who;
    await recordAudit(queryable, this.#parts.runtime.uuid(), {
      ...who,
      ...change,
      ...(approvedBy !== undefined && { after: { ...change.after, approvedBy } }),
      merchantId: merchantId ?? this.scope?.merchantId,
    });
  }

  /** Writes this call's row about a member's own account: for them, and for the owners of their merchants. */
  async auditMember(
    tx: Tx,
    member: Member,
    change: Pick<AuditedChange, "before" | "after" | "actor"> = {},
  ): Promise<void> {
    this.#requireChange(tx);
    this.#isAudited = true;
    const { signIn: _, approvedBy: __, ...who } = this.#who;
    const about = { memberId: member.id, subject: encodeId("mbr", member.id) };
    await recordMemberAudit(tx, this.#parts.runtime, { ...who, ...about, ...change });
  }

  /** Omits the audit row of a call that needs none: it continues another call, or returned nothing. */
  leaveNoRow(): void {
    this.#isAudited = true;
  }

  /** Ends this call by another one, which has written its rows and checked its right. */
  leaveTo(other: RpcContext): void {
    this.#isAudited = other.#isAudited;
    this.#isConfirmed = other.#isConfirmed;
  }

  /** Writes the row of an operator who has read something: in its environment's audit trail, or in those of both. */
  async auditReading(): Promise<void> {
    if (!this.#isAudited) await this.#record(this.scope?.environment?.database ?? this.#parts.accounts, this.#subject);
  }

  /** Ends a call that may change something: writes its row if its handler wrote none. */
  async endChange(): Promise<void> {
    const { environment } = this.scope ?? {};
    const audit = (tx: Tx) => this.audit(tx, this.#subject);
    if (this.#isAudited && this.#isConfirmed) return;
    if (this.#isAudited) await this.changeAccounts(async () => {});
    else if (environment === undefined) await this.changeAccounts(audit);
    else await this.changeEnvironment(environment, audit);
  }

  get #subject(): AuditedChange {
    return { subject: this.scope?.merchantId ? encodeId("mer", this.scope.merchantId) : "installation" };
  }
}

/** Set by the guard before a handler runs. */
export const rpcContextKey = createContextKey<RpcContext | undefined>(undefined, {
  description: "dashboard rpc context",
});

export function memberActor({ id, email }: Member): string {
  return `${email} (${encodeId("mbr", id)})`;
}

export function rpcContextOf(context: HandlerContext): RpcContext {
  const rpcContext = context.values.get(rpcContextKey);
  if (rpcContext === undefined) throw new Error("a dashboard rpc was served without its guard");
  return rpcContext;
}

export type ScopedContext = Scope & {
  readonly rpcContext: RpcContext;
  /** Runs a change in one transaction. Changes of the same merchant are serialized, so each sees the one before. */
  readonly change: <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>;
};

export function scopedContextOf(context: HandlerContext): ScopedContext {
  const rpcContext = rpcContextOf(context);
  const { merchantId, environment } = rpcContext.scope ?? {};
  if (!merchantId || !environment) throw new Error("this rpc's request names no merchant and environment");
  return {
    merchantId,
    environment,
    rpcContext,
    change: (work) =>
      rpcContext.changeEnvironment(environment, async (tx) => {
        await lockConfiguration(tx, merchantId);
        return work(tx);
      }),
  };
}

export function environmentContextOf(context: HandlerContext): {
  rpcContext: RpcContext;
  environment: DashboardEnvironment;
} {
  const rpcContext = rpcContextOf(context);
  if (!rpcContext.scope?.environment) throw new Error("this rpc's request names no environment");
  return { rpcContext, environment: rpcContext.scope.environment };
}

/** Returns the call with the merchant that its request names, in both environments. */
export function merchantContextOf(context: HandlerContext): { rpcContext: RpcContext; merchantId: MerchantId } {
  const rpcContext = rpcContextOf(context);
  if (!rpcContext.scope?.merchantId) throw new Error("this rpc's request names no merchant");
  return { rpcContext, merchantId: rpcContext.scope.merchantId };
}

/**
 * Returns the environment and merchant that a request names, if any, in the cell of the header `Cell`, of the session
 * that the request names, or else in that of the merchant. Throws `not_found` for one that does not exist or is not
 * served here.
 */
export async function findScope(
  parts: DashboardParts,
  message: object,
  header: Headers,
): Promise<RequestScope | undefined> {
  if (!("environment" in message) && !("merchantId" in message)) return undefined;
  const environment = "environment" in message ? environmentOf(parts, message.environment) : undefined;
  const merchant = "merchantId" in message ? await merchantOf(parts, message.merchantId) : undefined;
  const sessionId = "sessionId" in message ? decodeId("ps", String(message.sessionId)) : undefined;
  const cell = requestedCell(header) ?? (sessionId === undefined ? undefined : cellOf(sessionId));
  const inCell = environment?.cells && (await findMerchantsCell(environment, merchant, cell));
  return { environment: inCell ?? environment, merchantId: merchant?.id };
}

/** Returns another environment that this installation serves, in the merchant's cell there. */
export async function otherEnvironment(
  parts: DashboardParts,
  named: Environment,
  merchantId: MerchantId,
): Promise<DashboardEnvironment> {
  const environment = environmentOf(parts, named);
  const merchant = await findMerchant(parts.accounts, merchantId);
  return environment.cells ? findMerchantsCell(environment, merchant, undefined) : environment;
}

export function requestedCell(header: Headers): number | undefined {
  const text = header.get("cell");
  return text === null || !/^[1-9]\d?$/.test(text) ? undefined : Number(text);
}

async function findMerchantsCell(
  environment: DashboardEnvironment,
  merchant: Merchant | undefined,
  requested: number | undefined,
): Promise<DashboardEnvironment> {
  const home = merchant?.cells[environment.name] ?? firstCell;
  if (requested === undefined || requested === home) return requireCell(environment, home);
  const cell = findCell(environment, requested);
  if (cell !== undefined && (merchant === undefined || (await findSettings(cell.database, merchant.id)))) return cell;
  throw new DomainError("not_found", "The merchant has nothing in this cell.");
}

function environmentOf(parts: DashboardParts, named: unknown): DashboardEnvironment {
  const environment = parts.environments[named === Environment.LIVE ? "live" : "test"];
  if (environment === undefined)
    throw new DomainError("not_found", "This installation does not serve the environment.");
  return environment;
}

async function merchantOf(parts: DashboardParts, named: unknown): Promise<Merchant> {
  const merchantId = decodeId("mer", String(named));
  const merchant = merchantId === undefined ? undefined : await findMerchant(parts.accounts, merchantId);
  if (merchant === undefined) throw noSuchMerchant();
  return merchant;
}

/** Returns the error of an unknown merchant, also for one who is no member: they must not learn which exist. */
export function noSuchMerchant(): DomainError {
  return new DomainError("not_found", "There is no merchant with this id.");
}
