/** The description of a call that may wait for a second person, and the parts that it is made from. */
import type { ApprovalClass, ApprovalPolicy } from "../../accounts/approvals.ts";
import type { MemberRole } from "../../accounts/members.ts";
import type { Queryable, Tx } from "../../platform/database.ts";
import type { MerchantId } from "../../platform/ids.ts";
import type { DashboardEnvironment } from "../dashboard-parts.ts";

/** The databases by which a call is described. Both may be transactions with locks. */
export type Describing = {
  readonly merchantId: MerchantId;
  /** The environment of the call; undefined for a call about the team. */
  readonly environment: DashboardEnvironment | undefined;
  readonly database: Queryable | undefined;
  /** `database` if it is the transaction of the call, which locks what it describes. */
  readonly lock?: Tx | undefined;
  readonly accounts: Queryable;
  readonly policy: ApprovalPolicy;
};

export type Described = {
  /** The classes of its changes; `approvers` for a change of who approves. */
  readonly classes: readonly (ApprovalClass | "approvers")[];
  /** False if the policy allows it all the same, such as a small refund. */
  readonly isAllowed?: boolean;
  /** The role that it needs in live, beside that of its method. */
  readonly role?: MemberRole;
  readonly sentences: readonly string[];
  /** Everything that the sentences, and the outcome, depend on. */
  readonly state: readonly unknown[];
  /** The field of the request that has to name the state, and does not. */
  readonly unnamed?: string | undefined;
};
