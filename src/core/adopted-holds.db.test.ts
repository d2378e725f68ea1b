import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import type { PaymentSession } from "./entities.ts";
import { PairBed } from "./testing/failover-pairs.ts";

/** Those that can be read. */
const gateways: readonly Gateway[] = ["STRIPE", "PAYPAL", "SANDBOX_A"];

let bed: PairBed;
let paid: ReadonlyMap<Gateway, PaymentSession>;
beforeAll(async () => {
  bed = await PairBed.start();
  const pay = async (gateway: Gateway) => [gateway, await bed.payAlone(gateway)] as const;
  paid = new Map(await Promise.all(gateways.map(pay)));
  await bed.settleAll();
}, 120_000);
afterAll(() => bed?.close());

describe("a hold whose answer was lost, at the only gateway of the plan", () => {
  it.each(gateways)("is found at %s by a look-up, and captured once", async (gateway) => {
    const trail = await bed.base.trail(paid.get(gateway)!);
    expect(trail.session).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: gateway });
    expect(trail.attempts).toMatchObject([{ status: "CAPTURED", gatewayReference: expect.any(String) }]);
    const books = await bed.base.sandbox.authorizations(encodeId("att", trail.attempts[0]!.id));
    expect(books.map(({ status, capturedValue }) => [status, capturedValue])).toEqual([["captured", 4900]]);
  });
});
