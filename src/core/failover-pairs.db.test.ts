/** Failover across real shapes: each ordered pair of gateways, each trouble at the first, judged by the stand-ins' own books. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../gateways/connector.ts";
import type { Authorization } from "../gateways/sandbox/ledger.ts";
import { encodeId } from "../platform/ids.ts";
import type { PaymentSession } from "./entities.ts";
import { gateways, PairBed, type Trouble, troubles } from "./testing/failover-pairs.ts";

const pairs = gateways.flatMap((first) =>
  gateways.filter((second) => second !== first).map((second): [Gateway, Gateway] => [first, second]),
);

type Paid = {
  readonly first: Gateway;
  readonly second: Gateway;
  readonly trouble: Trouble;
  readonly session: PaymentSession;
};

let bed: PairBed;
let paid: Paid[];
let books: readonly Authorization[];
beforeAll(async () => {
  bed = await PairBed.start();
  const connected = await Promise.all(pairs.map(([first, second]) => bed.connect(first, second)));
  const jobs = connected.flatMap((pair) => troubles.map((trouble) => ({ pair, trouble })));
  // Those that only wait do so all at once; the others as many at a time as two cores answer well within their time.
  const waits = ({ trouble }: { trouble: Trouble }) => trouble === "timeout" || trouble === "lost answer";
  const busy = jobs.filter((job) => !waits(job));
  const groups = Array.from({ length: Math.ceil(busy.length / 20) }, (_, nth) => busy.slice(nth * 20, nth * 20 + 20));
  paid = [];
  for (const group of [...groups, jobs.filter(waits)]) {
    const sessions = await Promise.all(group.map(({ pair, trouble }) => bed.pay(pair, trouble)));
    paid.push(...group.map(({ pair, trouble }, nth) => ({ ...pair, trouble, session: sessions[nth]! })));
  }
  await bed.settleAll();
  books = await bed.base.sandbox.authorizations();
}, 120_000);
afterAll(() => bed?.close());

const kindOf: Readonly<Record<Trouble, string>> = {
  decline: "SOFT_DECLINE",
  fraud: "FRAUD",
  timeout: "TIMEOUT",
  "error 500": "GATEWAY_ERROR",
  reset: "GATEWAY_ERROR",
  "lost answer": "TIMEOUT",
};

const paidWith = (first: Gateway, second: Gateway, trouble: Trouble) =>
  paid.find((one) => one.first === first && one.second === second && one.trouble === trouble)!;

describe.each(pairs)("%s before %s", (first, second) => {
  it.each(troubles.filter((trouble) => trouble !== "fraud"))(
    "captures once at the second after a %s",
    async (trouble) => {
      const { session } = paidWith(first, second, trouble);
      const trail = await bed.base.trail(session);
      expect(trail.session).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: second, failover: true });
      expect(trail.attempts).toMatchObject([
        { gateway: first, status: trouble === "decline" ? "DECLINED" : "VOIDED", failureKind: kindOf[trouble] },
        { gateway: second, status: "CAPTURED" },
      ]);
      const ours = trail.attempts.map(({ id }) => books.filter(({ reference }) => reference === encodeId("att", id)));
      expect(
        ours[0]!.map(({ status }) => status).filter((status) => status !== "voided" && status !== "declined"),
      ).toEqual([]);
      expect(ours[1]!.map(({ status, capturedValue }) => [status, capturedValue])).toEqual([["captured", 4900]]);
      if (trouble === "lost answer") expect(ours[0]).toMatchObject([{ status: "voided" }]);
    },
  );

  it("asks nobody else after a fraud", async () => {
    const { session } = paidWith(first, second, "fraud");
    const trail = await bed.base.trail(session);
    expect(trail.session).toMatchObject({ status: "DECLINED", phase: "DONE", declineCode: "fraud_suspected" });
    expect(trail.attempts).toMatchObject([{ gateway: first, status: "DECLINED", failureKind: "FRAUD", stop: "fraud" }]);
    const reference = encodeId("att", trail.attempts[0]!.id);
    expect(books.filter((one) => one.reference === reference && one.status !== "declined")).toEqual([]);
  });
});

it("leaves nothing held anywhere, and one capture for each payment that succeeded", () => {
  expect(books.filter(({ status }) => status === "held")).toEqual([]);
  const captures = books.filter(({ status }) => status === "captured");
  expect(captures).toHaveLength(pairs.length * (troubles.length - 1));
  expect(new Set(captures.map(({ orderRef }) => orderRef)).size).toBe(captures.length);
});
