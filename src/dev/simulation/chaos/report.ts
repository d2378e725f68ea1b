/** Formats the verdict of a chaos run as a table. PURE. */
import type { Verdict } from "./chaos-run.ts";
import { type ViolationKind, violationKinds } from "./check.ts";
import { retryRound } from "./check-retries.ts";
import type { AttemptRecord, SessionRecord } from "./records.ts";

type Row = readonly [label: string, value: string];

// The most that are shown of each kind: enough to see a common cause.
const shownMax = 10;

export function writeReport(verdict: Verdict): string {
  const { violations, kept } = verdict;
  const rows = rowsOf(verdict);
  const width = Math.max(...rows.map(([label]) => label.length));
  const table = rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`).join("\n");
  const groups = [...Map.groupBy(violations, ({ kind }) => kind)].map(([kind, found]) => {
    const shown = found.slice(0, shownMax).map(({ sessionId, detail }) => `  ${sessionId || "no session"}  ${detail}`);
    const rest = found.length > shownMax ? [`  and ${found.length - shownMax} more`] : [];
    return [`${kind}: ${violationKinds[kind as ViolationKind]} (${found.length})`, ...shown, ...rest].join("\n");
  });
  const where = `Everything is kept in ${kept.join(" and ")}: rows, acquirers' records and webhooks in records.json, and the output of each process in logs/. Search both for the session's id.`;
  const verdictInWords = violations.length === 0 ? ["Nothing is wrong."] : groups;
  return [table, ...verdictInWords, ...(kept.length === 0 ? [] : [where])].join("\n\n");
}

function rowsOf({ options, tookS, load, records, violations, faults, reconciliation, tally }: Verdict): Row[] {
  const { sessions, authorizations, webhooks, events, attempts, authentications } = records;
  const statuses = [...Map.groupBy(sessions, ({ status }) => status)].map(
    ([status, of]) => [status, of.length] as const,
  );
  const submitted = sessions.filter(({ submittedAt }) => submittedAt !== undefined).length;
  const voided = authorizations.filter(({ status }) => status === "voided").length;
  const captured = authorizations.filter(({ status }) => status === "captured");
  const capturedAt = [...Map.groupBy(captured, ({ gateway }) => gateway)].map(
    ([gateway, of]) => [gateway, of.length] as const,
  );
  const held = sessions.filter(({ isManual, heldAt }) => isManual && heldAt !== undefined);
  const parts = new Set(attempts.flatMap((one) => (isPartial(one) ? [one.attemptId] : [])));
  const endInWords = ({ status, declineCode, winnerAttemptId }: SessionRecord) =>
    parts.has(winnerAttemptId ?? "") ? `${status} partly` : (declineCode ?? status);
  const retries = attempts.filter(({ round }) => round === retryRound);
  const workItems = [...Map.groupBy(records.workItems, ({ kind }) => kind)];
  return [
    ["duration", `${options.minutes} min of chaos, ${Math.round(tookS)} s in all`],
    ["seed, rate", `${options.seed}, ${options.rate} sessions/s`],
    ["load of the machine", `${load.mean.toFixed(1)} on average, ${load.max.toFixed(1)} at most, ${load.cores} cores`],
    ["sessions", `${sessions.length}: ${list(statuses)}`],
    ["orders with two sessions", sumAndList(countsOf(pairsOf(sessions)))],
    ["submitted", `${submitted}, with ${attempts.length} attempts`],
    ["retried at the same gateway", sumAndList(countsOf(retries.map(({ gateway, status }) => `${gateway} ${status}`)))],
    ["customers asked", sumAndList(countsOf(authentications.map(({ status }) => status)))],
    ["their manners", sumAndList(tally.under("customer "))],
    ["SIGKILL", sumAndList(tally.under("kill "))],
    ["SIGKILL while a refund was awaited", String(tally.of("mid-refund kill"))],
    ["SIGKILL while a capture was awaited", String(tally.of("mid-capture kill"))],
    ["SIGSTOP", sumAndList(tally.under("stop "))],
    ["restarts", sumAndList(tally.under("restart "))],
    ["acquirers cut off", sumAndList(tally.under("cut off "))],
    ["rules changed", String(tally.of("rule changed"))],
    ["processes that exited unexpectedly", sumAndList(tally.under("ended by itself: "))],
    ["acquirer faults", sumAndList(Object.entries(faults))],
    ["captures", sumAndList(capturedAt)],
    ["holds voided", String(voided)],
    ["held for a later capture", sumAndList(countsOf(held.map(endInWords)))],
    ["refunds", sumAndList(countsOf(records.refunds.map(({ status, origin }) => `${origin} ${status}`)))],
    ["renewals", sumAndList(countsOf(sessions.filter(({ renewal }) => renewal !== undefined).map(endInWords)))],
    ["attempts with money taken for disputes", String(records.disputed.filter(({ value }) => value > 0).length)],
    ["refunds sent again", String(records.refunds.filter(({ sends }) => sends > 1).length)],
    ["events, webhooks", `${events.length}, ${webhooks.length}: ${list(tally.under("webhook "))}`],
    ["answers", list(tally.under("answer "))],
    ["reconciled with acquirers", reconciliation ? list(Object.entries(reconciliation)) : "not finished"],
    ["work queue", sumAndList(workItems.map(([kind, of]) => [kind, of.length]))],
    ["violations", String(violations.length)],
  ];
}

function isPartial({ orderedValue, value }: AttemptRecord): boolean {
  return orderedValue !== undefined && orderedValue !== value;
}

function pairsOf(sessions: readonly SessionRecord[]): readonly string[] {
  const orders = [...Map.groupBy(sessions, ({ orderRef }) => orderRef).values()];
  const endOf = ({ status, declineCode, allowsRepeat }: SessionRecord) =>
    `${declineCode?.startsWith("order_") ? declineCode : status}${allowsRepeat ? " (allowed)" : ""}`;
  return orders.filter(({ length }) => length > 1).map((of) => of.map(endOf).toSorted().join(" + "));
}

function countsOf(names: readonly string[]): (readonly [string, number])[] {
  return [...Map.groupBy(names, (name) => name)].map(([name, of]) => [name, of.length] as const);
}

function sumAndList(counts: readonly (readonly [string, number])[]): string {
  const sum = counts.reduce((total, [, count]) => total + count, 0);
  return sum === 0 ? "0" : `${sum}: ${list(counts)}`;
}

function list(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([name, count]) => `${name} ${count}`).join(", ");
}
