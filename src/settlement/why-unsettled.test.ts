import { expect, it } from "vitest";
import { type AccountStatements, whyUnsettled } from "./why-unsettled.ts";

const day = 24 * 60 * 60_000;
const account: AccountStatements = { isRead: true, isBlocked: false, usualDelayMs: 2 * day, isReportMissing: false };
const movement = { ageMs: 3 * day, isUnconfirmed: false, differs: false };

it.each<[string, Partial<typeof movement>, Partial<AccountStatements> | undefined]>([
  ["overdue", {}, {}],
  ["amount_differs", { differs: true }, {}],
  ["report_missing", { differs: true }, { isReportMissing: true }],
  ["not_due", { ageMs: 2 * day - 1, differs: true }, { isReportMissing: true }],
  ["overdue", { ageMs: 2 * day }, {}],
  // Before the account's own delay is known.
  ["not_due", { ageMs: 7 * day - 1 }, { usualDelayMs: null }],
  ["overdue", { ageMs: 7 * day }, { usualDelayMs: null }],
  ["capture_unconfirmed", { isUnconfirmed: true, ageMs: 0 }, { isReportMissing: true }],
  ["feed_blocked", { isUnconfirmed: true }, { isBlocked: true }],
  ["feed_blocked", {}, { isBlocked: true, isRead: false }],
  ["no_feed", { isUnconfirmed: true }, { isRead: false }],
  ["no_feed", {}, undefined],
])("the first reason that holds is %s", (reason, moved, known) => {
  expect(whyUnsettled({ ...movement, ...moved }, known && { ...account, ...known })).toBe(reason);
});
