/** Payments with every ending, on one day, for the sums that tests compute by hand. */
import type { SettledRow } from "./settled-rows.fixture.ts";

const at = "2026-03-10T12:00:00Z";
export const oneOfEach: readonly SettledRow[] = [
  { settledAt: at, amountMinor: 1000, seconds: 1, attempts: [{ gateway: "A", status: "CAPTURED", ms: 100 }] },
  {
    settledAt: at,
    amountMinor: 2500,
    seconds: 2,
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined", ms: 200 },
      { gateway: "B", status: "CAPTURED", ms: 400 },
    ],
  },
  {
    settledAt: at,
    amountMinor: 700,
    currency: "USD",
    seconds: 11,
    attempts: [
      { gateway: "A", status: "VOIDED", kind: "TIMEOUT", ms: 10_000 },
      { gateway: "B", status: "CAPTURED", ms: 400 },
    ],
  },
  {
    settledAt: at,
    status: "DECLINED",
    seconds: 1,
    attempts: [{ gateway: "A", status: "DECLINED", kind: "FRAUD", code: "fraud_suspected", ms: 100 }],
  },
  {
    settledAt: at,
    status: "DECLINED",
    seconds: 1,
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "SOFT_DECLINE", code: "insufficient_funds", ms: 100 },
      { gateway: "B", status: "DECLINED", kind: "SOFT_DECLINE", code: "insufficient_funds", ms: 100 },
    ],
  },
  {
    settledAt: at,
    status: "DEGRADED",
    seconds: 4,
    attempts: [
      { gateway: "A", status: "FAILED", kind: "GATEWAY_ERROR", ms: 50 },
      { gateway: "B", status: "VOIDING", kind: "GATEWAY_ERROR", ms: 50 },
    ],
  },
  { settledAt: at, status: "EXPIRED", attempts: [] },
];

const wanting = { kind: "SOFT_DECLINE", code: "authentication_required", stop: "authentication_required" } as const;
const unfinished = { code: "authentication_failed", stop: "authentication_failed" } as const;
const passed = (shownMs: number) => ({ status: "AUTHENTICATED", shownMs }) as const;
/** Payments that were held: captured, cancelled, not captured in time, and declined before any hold. */
export const capturedLater: readonly SettledRow[] = [
  { settledAt: at, amountMinor: 900, attempts: [{ gateway: "A", status: "CAPTURED" }] },
  {
    settledAt: at,
    amountMinor: 900,
    status: "DECLINED",
    declineCode: "capture_cancelled",
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined" },
      { gateway: "B", status: "VOIDED" },
    ],
  },
  {
    settledAt: at,
    amountMinor: 900,
    status: "DECLINED",
    declineCode: "capture_expired",
    attempts: [{ gateway: "A", status: "VOIDING" }],
  },
  {
    settledAt: at,
    amountMinor: 900,
    status: "DECLINED",
    attempts: [{ gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined" }],
  },
];

/** Payments with a provider: a failover with one proof, a proof that no capture used, an exemption and a refusal. */
export const provided: readonly SettledRow[] = [
  {
    settledAt: at,
    seconds: 60,
    provided: { status: "AUTHENTICATED", flow: "CHALLENGE", shownMs: 40_000, issuerLiable: true },
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined", imported: true },
      { gateway: "B", status: "CAPTURED", imported: true },
    ],
  },
  {
    settledAt: at,
    provided: { status: "AUTHENTICATED", flow: "FRICTIONLESS", issuerLiable: true },
    attempts: [{ gateway: "A", status: "CAPTURED" }],
  },
  {
    settledAt: at,
    provided: { status: "EXEMPTED", flow: "FRICTIONLESS" },
    attempts: [{ gateway: "A", status: "CAPTURED", imported: true }],
  },
  {
    settledAt: at,
    status: "DECLINED",
    provided: { status: "REJECTED", flow: "CHALLENGE", shownMs: 1_000 },
    attempts: [],
  },
];

/** Payments with an authentication: one for each end, and one that was repeated. */
export const asked: readonly SettledRow[] = [
  {
    settledAt: at,
    seconds: 65,
    attempts: [{ gateway: "A", status: "CAPTURED", ms: 64_000, asked: passed(40_000) }],
  },
  {
    settledAt: at,
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "A", status: "CAPTURED", round: 1, ms: 64_000, asked: passed(10_000) },
    ],
  },
  {
    settledAt: at,
    status: "DECLINED",
    seconds: 65,
    attempts: [
      {
        gateway: "A",
        status: "DECLINED",
        kind: "SOFT_DECLINE",
        ...unfinished,
        asked: { status: "FAILED", shownMs: 9_000 },
      },
    ],
  },
  // B may have held, so these two were voided.
  {
    settledAt: at,
    status: "DECLINED",
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "B", status: "VOIDED", ...unfinished, asked: { status: "CANCELLED", shownMs: 9_000 } },
    ],
  },
  {
    settledAt: at,
    status: "DECLINED",
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "B", status: "VOIDED", ...unfinished, asked: { status: "ABANDONED" } },
    ],
  },
  {
    settledAt: at,
    seconds: 65,
    attempts: [{ gateway: "B", status: "CAPTURED", ms: 64_000, asked: { status: "UNAVAILABLE", shownMs: 9_000 } }],
  },
];
