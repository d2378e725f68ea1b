/**
 * Tests failover across real APIs: each ordered pair of gateways with each fault at the first, checked against the
 * emulators' own books.
 */
import { describe, expect, it } from "vitest";
import { gateways, PairHarness, type Trouble, troubles } from "../../dev/testing/core/failover-pairs.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Gateway } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Authorization } from "../../sandbox/ledger.ts";
import type { PaymentSession } from "../rows/entities.ts";

const pairs = gateways.flatMap((first) =>
  gateways.filter((second) => second !== first).map((second): [Gateway, Gateway] => [first, second]),
);

type Paid = {
  readonly first: Gateway;
  readonly second: Gateway;
  readonly trouble: Trouble;
  readonly session: PaymentSession;
};

const harness = await forFile(() => PairHarness.start());
const connected = await Promise.all(pairs.map(([first, second]) => harness.connect(first, second)));
const jobs = connected.flatMap((pair) => troubles.map((trouble) => ({ pair, trouble })));
// Cases that only wait run all at once; of the others, as many at a time as two busy cores answer well within their time.
const waits = ({ trouble }: { trouble: Trouble }) => trouble === "timeout" || trouble === "lost answer";
const busy = jobs.filter((job) => !waits(job));
const groups = Array.from({ length: Math.ceil(busy.length / 8) }, (_, nth) => busy.slice(nth * 8, nth * 8 + 8));
const paid: Paid[] = [];
for (const group of [...groups, jobs.filter(waits)]) {
  const sessions = await Promise.all(group.map(({ pair, trouble }) => harness.pay(pair, trouble)));
  paid.push(...group.map(({ pair, trouble }, nth) => ({ ...pair, trouble, session: sessions[nth]! })));
}
await harness.settleAll();
const books: readonly Authorization[] = await harness.base.sandbox.authorizations();

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
      const loaded = await harness.base.loadSession(session);
      expect(loaded.session).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: second, failover: true });
      expect(loaded.attempts).toMatchObject([
        { gateway: first, status: trouble === "decline" ? "DECLINED" : "VOIDED", failureKind: kindOf[trouble] },
        { gateway: second, status: "CAPTURED" },
      ]);
      const ours = loaded.attempts.map(({ id }) => books.filter(({ reference }) => reference === encodeId("att", id)));
      expect(
        ours[0]!.map(({ status }) => status).filter((status) => status !== "voided" && status !== "declined"),
      ).toEqual([]);
      expect(ours[1]!.map(({ status, capturedValue }) => [status, capturedValue])).toEqual([["captured", 4900]]);
      if (trouble === "lost answer") expect(ours[0]).toMatchObject([{ status: "voided" }]);
    },
  );

  it("tries no other gateway after a fraud decline", async () => {
    const { session } = paidWith(first, second, "fraud");
    const loaded = await harness.base.loadSession(session);
    expect(loaded.session).toMatchObject({ status: "DECLINED", phase: "DONE", declineCode: "fraud_suspected" });
    expect(loaded.attempts).toMatchObject([
      { gateway: first, status: "DECLINED", failureKind: "FRAUD", stop: "fraud" },
    ]);
    const reference = encodeId("att", loaded.attempts[0]!.id);
    expect(books.filter((one) => one.reference === reference && one.status !== "declined")).toEqual([]);
  });
});

it("leaves no hold at any gateway, and one capture for each payment that succeeded", () => {
  expect(books.filter(({ status }) => status === "held")).toEqual([]);
  const captures = books.filter(({ status }) => status === "captured");
  expect(captures).toHaveLength(pairs.length * (troubles.length - 1));
  expect(new Set(captures.map(({ orderRef }) => orderRef)).size).toBe(captures.length);
});
