/** Reports, beside a plan's changes, who changed the present state last, and how a new rule would have routed past payments. */
import type { ChangeView, DashboardClient, PlanView } from "../client/dashboard-client.ts";
import type { scopeOf } from "./attachment.ts";

type Scope = ReturnType<typeof scopeOf>;
type LastChange = { readonly actor: string; readonly at: string };
export type ReportedChange = ChangeView & { readonly lastChange?: LastChange };

/** Names who made each difference, from the audit trail: the newest change of the object, and of a setting of that setting. */
export async function withLastChanges(
  { audit }: DashboardClient,
  scope: Scope,
  changes: readonly ChangeView[],
): Promise<ReportedChange[]> {
  const named: ReportedChange[] = [];
  for (const change of changes) {
    const { subject = "", path = "", kind } = change;
    const removed = kind === "ADDED" && path.startsWith("webhooks.");
    if (subject === "" && !removed) {
      named.push(change);
      continue;
    }
    const about = removed ? { action: "RemoveWebhookEndpoint" } : { subject };
    const { entries = [] } = await audit.listAuditEntries({ ...scope, ...about, pageSize: 100 });
    const key = keyOf(path);
    const last = entries.find(({ before, after }) => {
      if (removed) return (before as { url?: string } | undefined)?.url === urlOf(change);
      return key === undefined || key in ((after as object | undefined) ?? {});
    });
    const { actor = "", createdAt = "" } = last ?? {};
    named.push({ ...change, ...(last && { lastChange: { actor, at: createdAt } }) });
  }
  return named;
}

/** Returns the name of a setting in the audit trail; undefined for an object that has its own trail. */
function keyOf(path: string): string | undefined {
  const keys: Readonly<Record<string, string>> = {
    "checkout.origins": "checkoutOrigins",
    "checkout.sessionLifetimeSeconds": "sessionLifetimeMs",
    "checkout.statementDescriptor": "statementDescriptor",
    "checkout.repeatedOrders": "repeatedOrders",
    "refundLimits.support": "SUPPORT",
    "refundLimits.developers": "DEVELOPER",
    "refundLimits.owners": "OWNER",
  };
  return keys[path];
}

function urlOf({ after = "{}" }: ChangeView): string | undefined {
  return (JSON.parse(after) as { url?: string }).url;
}

type Slice = Awaited<ReturnType<DashboardClient["routingRules"]["whatIf"]>>;
export type WhatIf = { readonly days: number; readonly counts: Readonly<Record<string, number>> };

const days = 7;

/** Simulates a changed rule on the payments of today and the six days before. */
export async function simulate(
  { routingRules }: DashboardClient,
  scope: Scope,
  draft: NonNullable<PlanView["draft"]>,
): Promise<WhatIf> {
  const counts: Record<string, number> = {};
  let slice: Slice = {};
  do {
    const pageToken = slice.nextPageToken ?? "";
    slice = await routingRules.whatIf({ ...scope, draft, days, timeZone: "UTC", pageToken });
    for (const [name, value] of Object.entries(slice.counts ?? {})) counts[name] = (counts[name] ?? 0) + Number(value);
  } while (slice.nextPageToken);
  return { days, counts };
}

export function whatIfLines({ counts }: WhatIf): readonly string[] {
  const { payments = 0, same = 0, succeededThen = 0, succeeds = 0, cannotKnow = 0, measured = 0, lost = 0 } = counts;
  if (payments === 0) return ["The new rule on past payments: none was submitted and has ended in the last 7 days."];
  const [low, high] = [Math.round(counts.measuredSucceedsLow ?? 0), Math.round(counts.measuredSucceedsHigh ?? 0)];
  const [atLeast, atMost] = [succeeds + low, succeeds + high + cannotKnow - measured];
  return [
    `The new rule on the ${payments} payments of the last 7 days: ${same} the same. ${succeededThen} succeeded, ${
      atLeast === atMost ? atLeast : `${atLeast} to ${atMost}`
    } would.`,
    ...(cannotKnow === 0
      ? []
      : [`${cannotKnow} are unknown: a gateway that was not called then, or a customer at the bank.`]),
    ...(measured === 0 ? [] : [`Of these, a split has measured ${measured}: ${low} to ${high} would succeed.`]),
    ...(lost === 0 ? [] : [`${lost} succeeded and would not.`]),
  ];
}
