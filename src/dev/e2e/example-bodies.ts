/** Webhook bodies for the guide: real ones, with ids, times and durations that are the same in every run. */
import { encodeId, type IdPrefix } from "../../platform/ids.ts";

type Session = {
  held?: object;
  captureBy?: string;
  status?: string;
  settledAt?: string;
  attempts?: { sequence: number; status: string }[];
  refunds?: object[];
  disputes?: { movements: object[] }[];
};
type Body = { type: string; data: Session };

const createdAt = Date.parse("2026-03-02T10:15:00.000Z");
const second = 1_000;
const day = 86_400 * second;
const submittedAfterMs = 21.4 * second;
const expiredAfterMs = 1_800 * second;
const heldMs = submittedAfterMs + 0.6 * second;
const settledAfterMs = { paid: submittedAfterMs + 1.6 * second, expired: expiredAfterMs + 0.4 * second };

/** A real body with the example's ids, times and durations, printed to be read. Every other value is as it was sent. */
export function exampleBody(body: Uint8Array): string {
  const parsed = JSON.parse(Buffer.from(body).toString()) as Body;
  const settledMs = parsed.data.status === "EXPIRED" ? settledAfterMs.expired : settledAfterMs.paid;
  const { attempts, refunds, disputes, held, ...session } = parsed.data;
  const disputed = Object.fromEntries(
    ["createdAt", "updatedAt", "closedAt"].map((name) => [name, at(settledMs + 9 * day)]),
  );
  const refunded = { createdAt: at(settledMs + day), completedAt: at(settledMs + day + 0.4 * second) };
  const timed = {
    ...parsed,
    timestamp: at(emittedAfterMs(parsed.type, settledMs)),
    data: {
      ...replaced(session, {
        createdAt: at(0),
        submittedAt: at(submittedAfterMs),
        expiresAt: at(expiredAfterMs),
        settledAt: at(settledMs),
      }),
      ...(held && { held: { since: at(heldMs), until: at(heldMs + 162 * 3_600 * second) } }),
      ...(attempts && { attempts: attempts.map((attempt) => replaced(attempt, timesOf(attempt, settledMs))) }),
      ...(refunds && { refunds: refunds.map((refund) => replaced(refund, refunded)) }),
      ...(disputes && {
        disputes: disputes.map(({ movements, ...dispute }) => ({
          ...replaced(dispute, disputed),
          movements: movements.map((movement) => replaced(movement, { recordedAt: at(settledMs + 9 * day) })),
        })),
      }),
    },
  };
  return withExampleIds(JSON.stringify(timed, null, 2));
}

function at(afterMs: number): string {
  return new Date(createdAt + afterMs).toISOString();
}

function emittedAfterMs(type: string, settledMs: number): number {
  switch (type) {
    case "payment_session.pending":
      return submittedAfterMs + 45 * second;
    case "payment_session.held":
      return heldMs;
    case "payment_session.capture_due":
      return heldMs + 138 * 3_600 * second;
    case "payment_attempt.voided":
      return settledMs + 3.2 * second;
    case "payment_attempt.capture_failed":
      return settledMs + 7_200 * second;
    case "refund.succeeded":
    case "refund.failed":
      return settledMs + day + 0.4 * second;
    case "refund.pending":
      return settledMs + day + 3_600 * second;
    case "dispute.created":
    case "dispute.updated":
    case "dispute.due_soon":
    case "dispute.closed":
      return settledMs + 9 * day;
    case "payment_method.saved":
    case "agreement.updated":
      return settledMs + 0.2 * second;
    case "webhook_endpoint.test":
      return 0;
    default:
      return settledMs + 4;
  }
}

function timesOf(attempt: { sequence: number; status: string }, settledMs: number) {
  const startedMs = submittedAfterMs + 30 + (attempt.sequence - 1) * 520;
  const durationMs = 180 + attempt.sequence * 97;
  const answeredMs = startedMs + durationMs;
  const completedMs = { VOIDED: settledMs + 3.1 * second, CAPTURED: answeredMs + 240 }[attempt.status] ?? answeredMs;
  return { startedAt: at(startedMs), completedAt: at(completedMs), durationMs };
}

/** Absent members stay absent. */
function replaced<Shape extends object>(shape: Shape, values: Readonly<Record<string, unknown>>): Shape {
  const entries = Object.entries(shape).map(([name, value]) => [name, name in values ? values[name] : value]);
  return Object.fromEntries(entries);
}

/** Replaces each id by an example, numbered as the ids come in the body; the same id gets the same example. */
function withExampleIds(text: string): string {
  const known = new Map<string, string>();
  const example = (real: string, make: (number: string) => string) => {
    if (!known.has(real)) known.set(real, make(String(known.size + 1).padStart(2, "0")));
    return known.get(real)!;
  };
  return text
    .replaceAll(/\b(evt|ps|att|ref|dsp|gc|we|pm|agr)_[0-7][0-9a-z]{25}\b/g, (real, prefix: IdPrefix) =>
      example(real, (number) => encodeId(prefix, `019caddc-36c0-7a5e-9c1d-53b0f2d6e4${number}`)),
    )
    .replaceAll(/\b(auth|re|cap)_[0-9a-f-]{36}\b/g, (real, prefix: string) =>
      example(real, (number) => `${prefix}_6f1d0c52-8a43-4b7e-9d25-71c0e8b3f6${number}`),
    );
}
