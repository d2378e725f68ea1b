/** The sum of a what-if's slices, and its figures. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ReplayedPayment, WhatIfCounts, WhatIfResponse } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { formatRate } from "../parts/numbers.ts";

export type Counts = Omit<WhatIfCounts, "$typeName" | "$unknown">;

export type Totals = {
  readonly counts: Counts;
  readonly examples: readonly ReplayedPayment[];
  readonly sessions: number;
  readonly nextPageToken: string;
  /** The creation time of the oldest session so far. */
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
  measured: 0,
  measuredSucceeds: 0,
  measuredSucceedsLow: 0,
  measuredSucceedsHigh: 0,
};

export const emptyTotals: Totals = { counts: zero, examples: [], sessions: 0, nextPageToken: "", reached: undefined };

// Bounds the examples of all slices together.
const examplesShown = 10;

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

// The service's limit of sessions.
const sessionsMax = 10_000;
const dayMs = 24 * 60 * 60_000;

/** Returns the progress from 0 to 1: it ends with the range of days, or at the limit of sessions. */
export function progressOf({ sessions, reached }: Totals, days: number): number {
  const byTime = reached === undefined ? 0 : (Date.now() - reached.getTime()) / (days * dayMs);
  return Math.min(1, Math.max(sessions / sessionsMax, byTime));
}

export type Figure = { readonly name: string; readonly value: string; readonly detail: string };

/** Returns the figures in their order. An unknown share makes a range, not a guess. */
export function whatIfRows(counts: Counts): Figure[] {
  const { payments, same, succeededThen, succeeds, cannotKnow, lost, measured } = counts;
  const share = (count: number) => formatRate(count / payments);
  const [low, high] = [Math.round(counts.measuredSucceedsLow), Math.round(counts.measuredSucceedsHigh)];
  const atLeast = succeeds + low;
  const atMost = succeeds + high + cannotKnow - measured;
  const range = atLeast === atMost ? share(atLeast) : `${share(atLeast)} – ${share(atMost)}`;
  return [
    { name: "Approval rate", value: range, detail: `${share(succeededThen)} actual, of ${payments} payments` },
    { name: "Unchanged", value: String(same), detail: "same gateways, same order, same outcome" },
    { name: "Another gateway first", value: String(counts.otherFirst), detail: "tried before all others" },
    { name: "Fewer attempts", value: String(counts.fewerAttempts), detail: "known to end earlier" },
    { name: "More attempts", value: String(counts.moreAttempts), detail: "at least one more gateway" },
    { name: "Would fail", value: String(lost), detail: "but were actually approved" },
    { name: "Unknown", value: String(cannotKnow), detail: "a gateway that was not called, or a customer" },
    ...(measured === 0
      ? []
      : [
          {
            name: "Of these measured by a split",
            value: String(measured),
            detail: `about ${Math.round(counts.measuredSucceeds)} would succeed (${low} to ${high})`,
          },
        ]),
  ];
}
