import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type ConnectionChoice, ConnectionChoiceSchema } from "../../../gen/dashboard/v1/configuration_pb.ts";
import type { Endpoint } from "../../events/endpoints.ts";
import type { Connection } from "../../gateways/connections.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import type { Held } from "./configuration-message.ts";
import { copyConfiguration } from "./copy-configuration.ts";

function connectionAt(gateway: string, account = "shop", isVerified = true): Connection {
  const id = systemRuntime.uuid() as Connection["id"];
  return {
    id,
    gateway,
    account,
    credentialVersion: isVerified ? 1 : null,
    paused: false,
    acquirer: null,
  } as Connection;
}

function heldWith(
  connections: readonly Connection[],
  more: Partial<Held> & { origins?: string[]; urls?: string[] } = {},
) {
  const { origins = [], urls = [], ...parts } = more;
  return {
    connections,
    rule: {
      version: 1,
      connectionIds: connections.map(({ id }) => id),
      failoverOn: ["TIMEOUT"],
      authentication: "AS_NEEDED",
      providerId: null,
      createdAt: new Date(),
    },
    settings: {
      checkoutOrigins: origins,
      sessionLifetimeMs: 900_000,
      statementDescriptor: null,
      repeatedOrders: "WARN",
    },
    endpoints: urls.map((url) => ({ url, eventTypes: null }) as unknown as Endpoint),
    alerts: { addresses: [], mutedTopics: [] },
    limits: {},
    ...parts,
  } as unknown as Held;
}

const copy = (from: Held, to: Held, choices: Record<string, string> = {}) =>
  copyConfiguration(
    from,
    to,
    Object.entries(choices).map(
      ([name, target]): ConnectionChoice => create(ConnectionChoiceSchema, { from: name, to: target }),
    ),
  );

describe("copyConfiguration()", () => {
  const stripe = connectionAt("STRIPE");

  it("finds connections by their gateway, whatever their account is called", () => {
    const { desired, unknown } = copy(heldWith([stripe]), heldWith([connectionAt("STRIPE", "acct_live")]));
    expect([desired.routing?.connectionIds, unknown]).toEqual([["STRIPE"], []]);
  });

  it.each([
    ["no account at the gateway", [connectionAt("ADYEN")]],
    ["an account that is not verified", [connectionAt("STRIPE", "shop", false), connectionAt("ADYEN")]],
    ["two accounts", [connectionAt("STRIPE", "one"), connectionAt("STRIPE", "two")]],
  ])("plans no rule until one is chosen, with %s", (_what, target) => {
    const from = heldWith([stripe]);
    const { desired, unknown } = copy(from, heldWith(target));
    expect([desired.routing, unknown]).toEqual([undefined, ["STRIPE"]]);
    const chosen = copy(from, heldWith(target), { STRIPE: "ADYEN" });
    expect([chosen.desired.routing?.connectionIds, chosen.unknown]).toEqual([["ADYEN"], []]);
  });

  it("leaves a connection out if that is chosen, and says so", () => {
    const { desired, leftOut } = copy(heldWith([stripe, connectionAt("SANDBOX_A")]), heldWith([stripe]), {
      SANDBOX_A: "",
    });
    expect(desired.routing?.connectionIds).toEqual(["STRIPE"]);
    expect(leftOut).toEqual(["SANDBOX_A: you left this connection out of the routing rule."]);
  });

  it("lists addresses on a developer's machine and without TLS, and copies none of them", () => {
    const origins = ["https://shop.example.com", "http://localhost:3000", "http://shop.example.com"];
    const urls = ["https://shop.example.com/hook", "http://127.0.0.1:4000/hook", "https://[::1]/hook"];
    const { desired, leftOut } = copy(heldWith([stripe], { origins, urls }), heldWith([stripe]));
    expect(desired.checkout?.origins).toEqual(["https://shop.example.com"]);
    expect(desired.webhooks?.endpoints.map(({ url }) => url)).toEqual(["https://shop.example.com/hook"]);
    expect(leftOut).toEqual([
      "http://localhost:3000: it is on a developer's machine.",
      "http://shop.example.com: it is not HTTPS.",
      "http://127.0.0.1:4000/hook: it is on a developer's machine.",
      "https://[::1]/hook: it is on a developer's machine.",
    ]);
  });

  it("keeps what only the target has, and copies no connection", () => {
    const target = heldWith([stripe], {
      origins: ["https://live.example.com"],
      urls: ["https://live.example.com/hook"],
      alerts: { addresses: ["ops@example.com"], mutedTopics: [] },
    });
    const source = heldWith([stripe], {
      origins: ["https://shop.example.com"],
      alerts: { addresses: ["dev@example.com"], mutedTopics: ["UNVERIFIED"] },
      limits: { DEVELOPER: { EUR: 5000 } },
    });
    const { desired } = copy(source, target);
    expect(desired).toMatchObject({
      checkout: { origins: ["https://live.example.com", "https://shop.example.com"] },
      webhooks: { endpoints: [{ url: "https://live.example.com/hook" }] },
      alerts: { addresses: ["ops@example.com", "dev@example.com"] },
      refundLimits: { developers: [{ currency: "EUR", amountMinor: 5000n }] },
    });
    expect(desired.connections).toBeUndefined();
  });
});
