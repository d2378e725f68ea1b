import { describe, expect, it } from "vitest";
import { PairHarness } from "../../dev/testing/core/failover-pairs.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Gateway } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import type { PaymentSession } from "../rows/entities.ts";

const gateways: readonly Gateway[] = ["STRIPE", "PAYPAL", "SANDBOX_A"];

const harness = await forFile(() => PairHarness.start());
const pay = async (gateway: Gateway) => [gateway, await harness.payAlone(gateway)] as const;
const paid: ReadonlyMap<Gateway, PaymentSession> = new Map(await Promise.all(gateways.map(pay)));
await harness.settleAll();

describe("a hold whose answer was lost, at the only gateway of the plan", () => {
  it.each(gateways)("is found at %s by a look-up, and captured once", async (gateway) => {
    const loaded = await harness.base.loadSession(paid.get(gateway)!);
    expect(loaded.session).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: gateway });
    expect(loaded.attempts).toMatchObject([{ status: "CAPTURED", gatewayReference: expect.any(String) }]);
    const books = await harness.base.sandbox.authorizations(encodeId("att", loaded.attempts[0]!.id));
    expect(books.map(({ status, capturedValue }) => [status, capturedValue])).toEqual([["captured", 4900]]);
  });
});
