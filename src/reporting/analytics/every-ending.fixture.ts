/** Payments with every ending, on one day, for the sums that tests compute by hand. */
import type { SettledRow } from "./settled-rows.fixture.ts";

const settled = (...rows: Omit<SettledRow, "settledAt">[]): readonly SettledRow[] =>
  rows.map((row) => ({ settledAt: "2026-03-10T12:00:00Z", ...row }));

export const oneOfEach = settled(
  { amountMinor: 1000, seconds: 1, attempts: [{ gateway: "A", status: "CAPTURED", ms: 100 }] },
  {
    amountMinor: 2500,
    seconds: 2,
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined", ms: 200 },
      { gateway: "B", status: "CAPTURED", ms: 400 },
    ],
  },
  {
    amountMinor: 700,
    currency: "USD",
    seconds: 11,
    attempts: [
      { gateway: "A", status: "VOIDED", kind: "TIMEOUT", ms: 10_000 },
      { gateway: "B", status: "CAPTURED", ms: 400 },
    ],
  },
  {
    status: "DECLINED",
    seconds: 1,
    attempts: [{ gateway: "A", status: "DECLINED", kind: "FRAUD", code: "fraud_suspected", ms: 100 }],
  },
  {
    status: "DECLINED",
    seconds: 1,
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "SOFT_DECLINE", code: "insufficient_funds", ms: 100 },
      { gateway: "B", status: "DECLINED", kind: "SOFT_DECLINE", code: "insufficient_funds", ms: 100 },
    ],
  },
  {
    status: "DEGRADED",
    seconds: 4,
    attempts: [
      { gateway: "A", status: "FAILED", kind: "GATEWAY_ERROR", ms: 50 },
      { gateway: "B", status: "VOIDING", kind: "GATEWAY_ERROR", ms: 50 },
    ],
  },
  { status: "EXPIRED", attempts: [] },
);

const wanting = { kind: "SOFT_DECLINE", code: "authentication_required", stop: "authentication_required" } as const;
const unfinished = { code: "authentication_failed", stop: "authentication_failed" } as const;
const passed = (shownMs: number) => ({ status: "AUTHENTICATED", shownMs }) as const;
/** Payments that were held: captured, cancelled, not captured in time, and declined before any hold. */
export const capturedLater = settled(
  { amountMinor: 900, attempts: [{ gateway: "A", status: "CAPTURED" }] },
  {
    amountMinor: 900,
    status: "DECLINED",
    declineCode: "capture_cancelled",
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined" },
      { gateway: "B", status: "VOIDED" },
    ],
  },
  {
    amountMinor: 900,
    status: "DECLINED",
    declineCode: "capture_expired",
    attempts: [{ gateway: "A", status: "VOIDING" }],
  },
  {
    amountMinor: 900,
    status: "DECLINED",
    attempts: [{ gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined" }],
  },
);

/** Payments with a provider: a failover with one proof, a proof that no capture used, an exemption and a refusal. */
export const provided = settled(
  {
    seconds: 60,
    provided: { status: "AUTHENTICATED", flow: "CHALLENGE", shownMs: 40_000, issuerLiable: true },
    attempts: [
      { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_declined", imported: true },
      { gateway: "B", status: "CAPTURED", imported: true },
    ],
  },
  {
    provided: { status: "AUTHENTICATED", flow: "FRICTIONLESS", issuerLiable: true },
    attempts: [{ gateway: "A", status: "CAPTURED" }],
  },
  {
    provided: { status: "EXEMPTED", flow: "FRICTIONLESS" },
    attempts: [{ gateway: "A", status: "CAPTURED", imported: true }],
  },
  { status: "DECLINED", provided: { status: "REJECTED", flow: "CHALLENGE", shownMs: 1_000 }, attempts: [] },
);

/** Payments with an authentication: one for each end, and one that was repeated. */
export const asked = settled(
  { seconds: 65, attempts: [{ gateway: "A", status: "CAPTURED", ms: 64_000, asked: passed(40_000) }] },
  {
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "A", status: "CAPTURED", round: 1, ms: 64_000, asked: passed(10_000) },
    ],
  },
  {
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
    status: "DECLINED",
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "B", status: "VOIDED", ...unfinished, asked: { status: "CANCELLED", shownMs: 9_000 } },
    ],
  },
  {
    status: "DECLINED",
    seconds: 65,
    attempts: [
      { gateway: "A", status: "DECLINED", ...wanting },
      { gateway: "B", status: "VOIDED", ...unfinished, asked: { status: "ABANDONED" } },
    ],
  },
  {
    seconds: 65,
    attempts: [{ gateway: "B", status: "CAPTURED", ms: 64_000, asked: { status: "UNAVAILABLE", shownMs: 9_000 } }],
  },
);
