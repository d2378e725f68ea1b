/** The question that every call with `(approval)` answers at the guard: does it wait for a second person? */
import { type DescMethod, getOption, hasOption, type Message, toBinary } from "@bufbuild/protobuf";
import {
  ApprovalClass as ApprovalClassMessage,
  approval,
  Role,
  role as roleOption,
} from "../../../gen/dashboard/v1/role_pb.ts";
import {
  type ApprovalPolicy,
  approvalClasses,
  insertApproval,
  listHolders,
  listPending,
  loadPolicy,
  type StoredCall,
} from "../../accounts/approvals.ts";
import { recordAudit } from "../../accounts/audit-trail.ts";
import { countAction } from "../../accounts/member-actions.ts";
import { liveRoles, type MemberRole, memberRoles } from "../../accounts/members.ts";
import { lockConfiguration } from "../../accounts/merchant-settings.ts";
import { associatedDataOf } from "../../accounts/reseal-approvals.ts";
import type { SignIn } from "../../accounts/sign-ins.ts";
import { firstCell } from "../../platform/cells.ts";
import type { Queryable, Statement, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { type ApprovalId, encodeId, type MerchantId } from "../../platform/ids.ts";
import { seal, sha256, unseal } from "../../platform/secrets.ts";
import type { DashboardParts, ServedParts } from "../dashboard-parts.ts";
import type { Gate, RequestScope, RequireRight } from "../rpc-context.ts";
import { mailApprovers, mailOwners } from "./approval-mail.ts";
import { describeCall } from "./describe-call.ts";
import type { Described, Describing } from "./described.ts";

// Calls of one merchant that wait at a time: more than people decide about in a day.
const pendingMax = 50;

type Asked = {
  readonly method: DescMethod;
  readonly message: Message;
  readonly scope: RequestScope | undefined;
  readonly requireRight: RequireRight;
  readonly who: {
    readonly actor: string;
    readonly action: string;
    readonly requestId: string;
    readonly signIn: SignIn | undefined;
  };
  readonly isOperator: boolean;
  /** Handles the call as if it did not wait. Absent if its handler calls another server before its first transaction. */
  readonly rehearse?: (gate: Gate) => Promise<unknown>;
};

/**
 * Stores a member's call that waits for a second person, and throws `approval_pending`. Otherwise returns what the call's
 * transactions have to check, and what follows it. Operators are not bound: the owners get a mail afterwards.
 */
export async function askForSecondPerson(
  parts: ServedParts,
  asked: Asked,
): Promise<{ readonly gate?: Gate; readonly after?: () => Promise<void> }> {
  const { method, message, scope, who } = asked;
  const { merchantId, environment } = scope ?? {};
  if (!hasOption(method, approval) || merchantId === undefined) return {};
  const isAboutTeam = getOption(method, approval) === ApprovalClassMessage.APPROVERS;
  if (!isAboutTeam && environment?.name !== "live") return {};
  const policy = await loadPolicy(parts.accounts, merchantId);
  if (!isOn(policy)) return {};
  const describing: Describing = {
    ...{ merchantId, environment, policy },
    ...{ database: environment?.database, accounts: parts.accounts },
  };
  const described = await describeCall(method, message, describing);
  const isWaiting = described !== undefined && waits(policy, described);
  if (asked.isOperator) {
    if (!isWaiting) return {};
    return { after: () => mailOwners(parts, { merchantId, actor: who.actor, sentences: described.sentences }) };
  }
  const { signIn } = who;
  if (signIn === undefined) return {};
  if (isWaiting) throw waiting(await store(parts, { ...asked, merchantId, signIn, described }));
  return {
    gate: {
      async before(tx, database) {
        const again = await describeAgain(method, message, { describing, tx, database });
        if (again === undefined || !waits(again.policy, again)) return;
        throw new DomainError("state_conflict", "This was changed meanwhile. Review it, then repeat the call.");
      },
    },
  };
}

/** Describes a call in one of its transactions, by the current policy. Undefined if it changes nothing of its class. */
export async function describeAgain(
  method: DescMethod,
  message: object,
  { describing, tx, database }: { describing: Describing; tx: Tx; database: "environment" | "accounts" },
): Promise<(Described & { readonly policy: ApprovalPolicy }) | undefined> {
  const accounts: Queryable = database === "accounts" ? tx : describing.accounts;
  // A refund locks its payment instead.
  const isConfigured = getOption(method, approval) !== ApprovalClassMessage.REFUNDS;
  if (database === "environment" && isConfigured) await lockConfiguration(tx, describing.merchantId);
  const policy = await loadPolicy(accounts, describing.merchantId);
  const own = database === "environment" ? { database: tx, lock: tx } : {};
  const again = await describeCall(method, message, { ...describing, ...own, accounts, policy });
  return again && { ...again, policy };
}

function isOn(policy: ApprovalPolicy): boolean {
  return approvalClasses.some((name) => policy[name]);
}

function waits(policy: ApprovalPolicy, { classes, isAllowed = false }: Described): boolean {
  return !isAllowed && classes.some((name) => (name === "approvers" ? isOn(policy) : policy[name]));
}

/** Returns the name under which a call is stored. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Returns the state that a call is based on, as it is stored and compared. */
export function revisionOfCall({ state, sentences }: Described): string {
  return sha256(JSON.stringify([state, sentences])).toString("base64url");
}

export function sealingOf({ signIns }: DashboardParts) {
  if (signIns === undefined) throw new Error("only a dashboard with members stores calls");
  return signIns.sealing;
}

type Storing = Asked & { readonly merchantId: MerchantId; readonly signIn: SignIn; readonly described: Described };

async function store(parts: ServedParts, storing: Storing): Promise<ApprovalId> {
  const { method, message, merchantId, signIn, described, scope, who } = storing;
  if (described.unnamed !== undefined) {
    const detail = `A second person decides about this call. \`${described.unnamed}\` must name what it is based on, so that nothing else runs.`;
    throw new DomainError("missing_field", detail, { field: described.unnamed });
  }
  const role = highest([memberRoleOf(method), ...(described.role ? [described.role] : [])]);
  const holders = await listHolders(parts.accounts, merchantId, role);
  const { member } = signIn;
  if (!holders.some(({ id }) => id === member.id)) {
    throw new DomainError(
      "role_not_allowed",
      `Your role may not do this. It needs the role ${role.toLowerCase()} in live.`,
    );
  }
  const others = holders.filter(({ id }) => id !== member.id);
  if (others.length === 0) {
    const detail = `This needs a second person with the role ${role.toLowerCase()} in live, and there is none. Ask your operator.`;
    throw new DomainError("state_conflict", detail);
  }
  const bytes = Buffer.from(toBinary(method.input, message)).toString("base64");
  const call: StoredCall = {
    ...{ id: parts.runtime.uuid(), merchantId, method: nameOf(method), role },
    ...{ cell: scope?.environment?.cell ?? firstCell, revision: revisionOfCall(described) },
    ...{ sentences: described.sentences, requestedBy: member.id },
  };
  const sealing = sealingOf(parts);
  await countAction(parts.accounts, member.id, "mail");
  await rehearse(storing);
  const same = await parts.accounts.transaction(async (tx) => {
    await storing.requireRight(tx);
    const pending = await listPending(tx, merchantId);
    const known = pending.find(
      (one) =>
        one.requestedBy === member.id &&
        one.method === call.method &&
        one.revision === call.revision &&
        unseal(sealing, associatedDataOf(one), one.sealedRequest!).expose() === bytes,
    );
    if (known !== undefined) return known.id;
    if (pending.length >= pendingMax) {
      const detail = `${pendingMax} calls wait for a second person already. Decide about one of them first.`;
      throw new DomainError("state_conflict", detail);
    }
    await insertApproval(tx, { ...call, sealedRequest: seal(sealing, associatedDataOf(call), bytes) });
    const after = { status: "PENDING", changes: call.sentences };
    const { signIn: _, ...fact } = who;
    await recordAudit(tx, parts.runtime.uuid(), { ...fact, merchantId, subject: encodeId("apv", call.id), after });
    return undefined;
  });
  if (same === undefined) await mailApprovers(parts, { call, requester: member, to: others });
  return same ?? call.id;
}

const checkConstraints: Statement = { name: "check_constraints", text: "SET CONSTRAINTS ALL IMMEDIATE" };

/**
 * Runs a call up to the end of its first transaction, which is undone. Throws what the call throws, so that no one decides about
 * a call that cannot succeed.
 */
async function rehearse({ rehearse: handle }: Asked): Promise<void> {
  let isOver = false;
  try {
    await handle?.({
      before: async () => {},
      async after(tx) {
        await tx.query(checkConstraints, []);
        isOver = true;
        throw new Error("the rehearsal of this call is over");
      },
    });
  } catch (error) {
    if (!isOver) throw error;
  }
}

function memberRoleOf(method: DescMethod): MemberRole {
  const named = memberRoles.find((name) => Role[name] === getOption(method, roleOption));
  if (named === undefined) throw new Error(`${method.name} waits for a second person, and is not for members`);
  return named;
}

function highest(roles: readonly MemberRole[]): MemberRole {
  return roles.toSorted((left, right) => liveRoles.indexOf(right) - liveRoles.indexOf(left))[0]!;
}

function waiting(id: ApprovalId): DomainError {
  const detail = "Waits for a second person. Nothing is changed until another member approves it, within 72 hours.";
  return new DomainError("approval_pending", detail, { state: { approvalId: encodeId("apv", id) } });
}
