import { describe, expect, it } from "vitest";
import { changesOf } from "./audit-changes.ts";

const format = (amountMinor: number, currency: string) =>
  currency === "XXX" ? undefined : `${currency} ${amountMinor / 100}`;

describe("changesOf()", () => {
  it("lists only what differs, in words", () => {
    const before = {
      checkoutOrigins: [],
      paused: false,
      version: 1,
      url: "https://a.example",
      sessionLifetimeMs: 60_000,
    };
    const origins = ["https://a.example", "https://b.example"];
    const after = { checkoutOrigins: origins, paused: true, version: 1, sessionLifetimeMs: 90_000 };
    expect(changesOf(before, after)).toEqual([
      { name: "Checkout origins", before: "none", after: "https://a.example, https://b.example" },
      { name: "Paused", before: "No", after: "Yes" },
      { name: "Address", before: "https://a.example", after: undefined },
      { name: "Session lifetime", before: "1 min", after: "90 s" },
    ]);
  });

  it("formats amounts with their currency, and names gateways, roles and kinds", () => {
    const after = { sessionId: "ps_1", amountMinor: 4900, currency: "EUR", gateway: "SANDBOX_A", kind: "SECRET_KEY" };
    expect(changesOf(undefined, after, format).map(({ name, after: text }) => [name, text])).toEqual([
      ["Payment", "ps_1"],
      ["Amount", "EUR 49"],
      ["Gateway", "Sandbox A"],
      ["Kind", "Secret key"],
    ]);
    expect(changesOf({ DEVELOPER: {} }, { DEVELOPER: { EUR: 50_000 } }, format)).toEqual([
      { name: "Limits of developers EUR", before: undefined, after: "EUR 500" },
    ]);
    expect(changesOf({ reason: "Broken_by_post" }, { reason: "requested_by_customer", eventTypes: [] })).toEqual([
      { name: "Reason", before: "Broken_by_post", after: "Requested by customer" },
      { name: "Event types", before: undefined, after: "every event" },
    ]);
    expect(changesOf({ role: "VIEWER" }, { role: "OWNER" })).toEqual([
      { name: "Role", before: "Viewer", after: "Owner" },
    ]);
    expect(changesOf(undefined, { amountMinor: 5, currency: "XXX" }, format).map((field) => field.after)).toEqual([
      "5",
      "XXX",
    ]);
  });

  it("shows what is nested field by field, never as JSON", () => {
    const acquirer = {
      mcc: "5812",
      networks: { visa: { acquirerBin: "400551" } },
      exemptions: [{ kind: "LOW_VALUE", currency: "EUR", amountMinor: 3_000 }],
    };
    expect(changesOf({ acquirer: null }, { acquirer }, format)).toEqual([
      { name: "Acquirer mcc", before: undefined, after: "5812" },
      { name: "Acquirer networks visa acquirer bin", before: undefined, after: "400551" },
      { name: "Acquirer exemptions", before: undefined, after: "Kind Low value, Amount EUR 30" },
    ]);
    expect(changesOf(undefined, undefined)).toEqual([]);
  });
});
