/** The sum of a what-if's slices, and what it says in figures. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ReplayedPayment, WhatIfCounts, WhatIfResponse } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";

/** The counts without what makes them a message. */
export type Counts = Omit<WhatIfCounts, "$typeName" | "$unknown">;

/** What the slices so far say together. */
export type Totals = {
  readonly counts: Counts;
  readonly examples: readonly ReplayedPayment[];
  readonly sessions: number;
  readonly nextPageToken: string;
  /** When the oldest session so far was created. */
  readonly reached: Date | undefined;
};

const zero: Counts = {
  payments: 0,
  same: 0,
  otherFirst: 0,
  fewerAttempts: 0,
  moreAttempts: 0,
  cannotKnow: 0,
  succeededThen: 0,
  succeeds: 0,
  lost: 0,
  notRoutable: 0,
};

/** Before the first slice. */
export const emptyTotals: Totals = { counts: zero, examples: [], sessions: 0, nextPageToken: "", reached: undefined };

// As many as are read, of all slices together.
const examplesShown = 10;

/** With one slice more. */
export function addSlice({ counts, examples }: Totals, slice: WhatIfResponse): Totals {
  const names = Object.keys(zero) as (keyof Counts)[];
  const sum = names.map((name) => [name, counts[name] + (slice.counts?.[name] ?? 0)]);
  return {
    counts: Object.fromEntries(sum) as Counts,
    examples: [...examples, ...slice.examples].slice(0, examplesShown),
    sessions: slice.sessionsSoFar,
    nextPageToken: slice.nextPageToken,
    reached: slice.reached && timestampDate(slice.reached),
  };
}

// What the service looks at at most.
const sessionsMax = 10_000;
const dayMs = 24 * 60 * 60_000;

/** How much is done, 0 to 1: it is over where the days end, or at the most sessions. */
export function progressOf({ sessions, reached }: Totals, days: number): number {
  const byTime = reached === undefined ? 0 : (Date.now() - reached.getTime()) / (days * dayMs);
  return Math.min(1, Math.max(sessions / sessionsMax, byTime));
}

/** One figure, and what it means. */
export type Figure = { readonly name: string; readonly value: string; readonly detail: string };

/** The figures in their order. A share that cannot be known makes a range, not a guess. */
export function whatIfRows(counts: Counts): Figure[] {
  const { payments, same, succeededThen, succeeds, cannotKnow, lost } = counts;
  const share = (count: number) => `${((100 * count) / payments).toFixed(1)} %`;
  const atMost = succeeds + cannotKnow;
  const range = succeeds === atMost ? share(succeeds) : `${share(succeeds).replace(" %", "")} – ${share(atMost)}`;
  return [
    { name: "Approval rate", value: range, detail: `${share(succeededThen)} in truth, of ${payments} payments` },
    { name: "The same", value: String(same), detail: "same gateways, same order, same end" },
    { name: "Another gateway first", value: String(counts.otherFirst), detail: "asked before all others" },
    { name: "Fewer attempts", value: String(counts.fewerAttempts), detail: "known to end earlier" },
    { name: "More attempts", value: String(counts.moreAttempts), detail: "at least one gateway more" },
    { name: "Would be lost", value: String(lost), detail: "succeeded then, and would not have" },
    { name: "Cannot know", value: String(cannotKnow), detail: "a gateway that was not asked then" },
  ];
}
