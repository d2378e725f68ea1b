/** A stored call, opened: its method, its request, and what it would change now. */
import { type DescMethod, fromBinary, type Message } from "@bufbuild/protobuf";
import { type Approval, loadPolicy } from "../../accounts/approvals.ts";
import { associatedDataOf } from "../../accounts/reseal-approvals.ts";
import { DomainError } from "../../platform/errors.ts";
import { unseal } from "../../platform/secrets.ts";
import type { DashboardParts } from "../dashboard-parts.ts";
import { findScope, type RequestScope } from "../rpc-context.ts";
import { dashboardServices } from "../service-list.ts";
import { nameOf, revisionOfCall, sealingOf } from "./approval-door.ts";
import { describeCall } from "./describe-call.ts";
import type { Described, Describing } from "./described.ts";

export type OpenedCall = {
  readonly type: "current";
  readonly method: DescMethod;
  readonly message: Message;
  readonly scope: RequestScope | undefined;
  readonly describing: Describing;
  readonly described: Described;
};

/** Opens a call that waits. `outdated`: its subject was changed since, so that the call would do something else. */
export async function openCall(
  parts: DashboardParts,
  approval: Approval,
): Promise<OpenedCall | { readonly type: "outdated" }> {
  const method = dashboardServices.flatMap(({ methods }) => methods).find((each) => nameOf(each) === approval.method);
  if (method === undefined || approval.sealedRequest === null) return { type: "outdated" };
  const { merchantId } = approval;
  const bytes = tryToOpen(parts, approval);
  if (bytes === undefined) return { type: "outdated" };
  try {
    const message = fromBinary(method.input, Buffer.from(bytes, "base64"));
    const scope = await findScope(parts, message, new Headers({ cell: String(approval.cell) }));
    const { environment } = scope ?? {};
    const policy = await loadPolicy(parts.accounts, merchantId);
    const databases = { database: environment?.database, accounts: parts.accounts };
    const describing = { merchantId, environment, policy, ...databases };
    const described = await describeCall(method, message, describing);
    if (described === undefined || revisionOfCall(described) !== approval.revision) return { type: "outdated" };
    return { type: "current", method, message, scope, describing, described };
  } catch (error) {
    if (error instanceof DomainError) return { type: "outdated" };
    throw error;
  }
}

/** Undefined for a request of another row, or one whose key is gone. */
function tryToOpen(parts: DashboardParts, approval: Approval): string | undefined {
  try {
    return unseal(sealingOf(parts), associatedDataOf(approval), approval.sealedRequest!).expose();
  } catch {
    return undefined;
  }
}
