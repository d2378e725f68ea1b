/** Calls that would wait for a second person and cannot succeed: they are refused when they are made, and nothing of them stays. */
import type { DescMethod } from "@bufbuild/protobuf";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { ApiKeyService } from "../../../gen/dashboard/v1/api_keys_pb.ts";
import { ConfigurationService } from "../../../gen/dashboard/v1/configuration_pb.ts";
import { GatewayConnectionService } from "../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { MemberService } from "../../../gen/dashboard/v1/members_pb.ts";
import { PaymentService } from "../../../gen/dashboard/v1/payments_pb.ts";
import { WebhookEndpointService } from "../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { codeOf } from "../../dev/testing/dashboard/pages.ts";
import { makePayment, openTables } from "../../dev/testing/dashboard/payment-rows.ts";
import { switchGuards } from "../../migrations/switch-guards.ts";
import { decodeId } from "../../platform/ids.ts";
import { approvalsForFile } from "./approvals.fixture.ts";

const fixture = await approvalsForFile();
const { dashboard, members, cookies, call, waiting, wantFor, stored, addWebhookEndpoint, endpoint } = fixture;
const { createRestrictedKey, listApiKeys } = ApiKeyService.method;
const { enableWebhookEndpoint, listWebhookEndpoints } = WebhookEndpointService.method;
const { addGatewayConnection, verifyGatewayConnection } = GatewayConnectionService.method;

const rows = () =>
  Promise.all([
    dashboard.accountRows("SELECT count(*)::int AS entries FROM audit_entry"),
    dashboard.rows("SELECT count(*)::int AS entries FROM audit_entry"),
    dashboard.rows("SELECT count(*)::int AS keys FROM api_key"),
    dashboard.rows("SELECT count(*)::int AS endpoints FROM endpoint"),
  ]);

async function refusalOf(method: DescMethod, request: object): Promise<string | undefined> {
  const before = await rows();
  const mails = dashboard.mailbox.mails.length;
  const code = await codeOf(call(method, cookies.ada, request));
  expect(await waiting()).toEqual([]);
  expect(await rows()).toEqual(before);
  expect(dashboard.mailbox.mails).toHaveLength(mails);
  return code;
}

describe("a call that cannot succeed", () => {
  it.each([
    ["a right that does not exist", { name: "Reports", rights: ["sessions.read", "everything"] }],
    ["a name with a control character", { name: "Reports\u0007", rights: ["sessions.read"] }],
    ["an end in the past", { name: "Reports", rights: ["sessions.read"], expiresAt: "2020-01-01T00:00:00Z" }],
  ])("is refused for %s", async (_, request) => {
    await wantFor("credentials");
    expect(await refusalOf(createRestrictedKey, request)).toBe("invalid_field");
  });

  it("is refused for an event type that does not exist, and for an endpoint that is not verified yet", async () => {
    await call(addWebhookEndpoint, undefined, endpoint("new"));
    await wantFor("endpoints");
    expect(await refusalOf(addWebhookEndpoint, { ...endpoint("x"), eventTypes: ["no.such"] })).toBe("invalid_field");
    const { endpoints } = await call<{ endpoints: { endpointId: string }[] }>(listWebhookEndpoints, cookies.ada);
    const { endpointId } = endpoints[0]!;
    expect(await refusalOf(enableWebhookEndpoint, { endpointId })).toBe("state_conflict");
  });

  it("is refused for a connection about whose payments nothing is said", async () => {
    const request = { gateway: "SANDBOX_A", account: "shop", credentials: { apiKey: "sandbox_test_shop" } };
    const added = await call<{ connection: { connectionId: string } }>(addGatewayConnection, undefined, request);
    await wantFor("credentials");
    const { connectionId } = added.connection;
    expect(await refusalOf(verifyGatewayConnection, { connectionId })).toBe("missing_field");
  });

  it("is refused for a member who is on the team already", async () => {
    await wantFor("endpoints");
    const invited = { email: "bob@example.com", role: "ROLE_OWNER", liveRole: "ROLE_OWNER" };
    expect(await refusalOf(MemberService.method.inviteMember, invited)).toBe("state_conflict");
    expect(members.bob).toBeDefined();
  });

  it("is refused for a refund of more than is left", async () => {
    await wantFor("refunds");
    await openTables(dashboard);
    const { sessionId, attemptIds } = await makePayment(dashboard, { currency: "EUR", amountMinor: 20_000 });
    const attempt = decodeId("att", attemptIds.at(-1)!);
    await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", [attempt]);
    await dashboard.rows(switchGuards("ENABLE"));
    const refund = { sessionId, idempotencyKey: v7(), amountMinor: "20001" };
    expect(await refusalOf(PaymentService.method.refundPayment, refund)).toBe("amount_exceeds_refundable");
    expect(await dashboard.rows("SELECT 1 FROM refund")).toEqual([]);
  });

  it("is refused for a configuration that removes something without saying so", async () => {
    await call(addWebhookEndpoint, undefined, endpoint("kept"));
    await wantFor("endpoints");
    const { getConfiguration, applyConfiguration } = ConfigurationService.method;
    const { revision } = await call<{ revision: string }>(getConfiguration, cookies.ada);
    const request = { desired: { webhooks: { endpoints: [] } }, revision };
    expect(await refusalOf(applyConfiguration, request)).toBe("invalid_field");
  });
});

it("a call that waits leaves nothing but its own row", async () => {
  await wantFor("credentials");
  const [, audit, keys] = await rows();
  await stored(createRestrictedKey, cookies.ada, { name: "Reports", rights: ["sessions.read"] });
  expect((await rows()).slice(1, 3)).toEqual([audit, keys]);
  const { apiKeys } = await call<{ apiKeys: { name: string }[] }>(listApiKeys, cookies.ada);
  expect(apiKeys.map(({ name }) => name)).not.toContain("Reports");
});
