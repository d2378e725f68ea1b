/** Tests that what is shown runs (A3), that a closed request is gone (A4), which changes of approvals wait (A5), and refunds. */
import { hasOption } from "@bufbuild/protobuf";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { ApiKey_Kind, ApiKeyService } from "../../../gen/dashboard/v1/api_keys_pb.ts";
import { ApprovalService } from "../../../gen/dashboard/v1/approvals_pb.ts";
import { GatewayConnectionService } from "../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { MemberService } from "../../../gen/dashboard/v1/members_pb.ts";
import { PaymentService } from "../../../gen/dashboard/v1/payments_pb.ts";
import { approval } from "../../../gen/dashboard/v1/role_pb.ts";
import { RoutingRuleService } from "../../../gen/dashboard/v1/routing_rules_pb.ts";
import { associatedDataOf } from "../../accounts/reseal-approvals.ts";
import { lockSession } from "../../core/record/load-session.ts";
import { codeOf } from "../../dev/testing/dashboard/pages.ts";
import { makePayment, openTables } from "../../dev/testing/dashboard/payment-rows.ts";
import { switchGuards } from "../../migrations/switch-guards.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { seal, unseal } from "../../platform/secrets.ts";
import { dashboardServices, signInServices } from "../service-list.ts";
import { approvalsForFile } from "./approvals.fixture.ts";
import { describeCall } from "./describe-call.ts";

const fixture = await approvalsForFile();
const { dashboard, members, cookies, call, waiting, wantFor, stored, approveCall } = fixture;
const { addWebhookEndpoint, endpoint, rowOf, update, setRoles, revisionOfPolicy } = fixture;
const { ada, bob, dora, sue } = cookies;
const { addGatewayConnection, listGatewayConnections, verifyGatewayConnection, rotateGatewayCredentials } =
  GatewayConnectionService.method;
const { setRoutingRule, restoreRoutingRule, getRoutingRule } = RoutingRuleService.method;

const credentials = { apiKey: "sandbox_test_shop" };
const added = await call<{ connection: { connectionId: string } }>(addGatewayConnection, undefined, {
  ...{ gateway: "SANDBOX_A", account: "shop", credentials },
});
const { connectionId } = added.connection;
await call(verifyGatewayConnection, undefined, { connectionId, routePayments: true });
await call(RoutingRuleService.method.setRoutingRule, undefined, { connectionIds: [connectionId], failoverOn: [] });

type Rule = { routingRule: { version: number; failoverOn: number[] } };
const version = async () => (await call<Rule>(getRoutingRule, ada)).routingRule.version;
const rule = async (failoverOn: string[], more: object = {}) => ({
  ...{ connectionIds: [connectionId], failoverOn, expectedVersion: await version(), ...more },
});

it("every method with a class says what it changes", async () => {
  const methods = [...dashboardServices, ...signInServices].flatMap((service) => service.methods);
  const classed = methods.filter((method) => hasOption(method, approval));
  expect(classed.length).toBeGreaterThan(15);
  for (const method of classed) {
    const described = await describeCall(method, {}, {} as never).catch(String);
    expect(String(described)).not.toMatch(/no description/);
  }
});

describe("A3: what is shown", () => {
  it("has an endpoint's address as it is stored, however it is written", async () => {
    await wantFor("endpoints");
    await stored(addWebhookEndpoint, dora, { url: "https://shop.example\n.evil.example/x" });
    expect((await waiting()).at(-1)!.sentences[0]).toMatch(/^https:\/\/shop\.example\.evil\.example\/x is added/);
    expect(await codeOf(call(addWebhookEndpoint, dora, { url: "not a url" }))).toBe("endpoint_not_allowed");
  });

  it("keeps in quotes what a member typed, so that it cannot read on as the sentence", async () => {
    await wantFor("credentials", "routing");
    const name = "A” is created. It ends at once. The key “B";
    await stored(ApiKeyService.method.createRestrictedKey, ada, { name, rights: ["sessions.read"] });
    expect((await waiting()).at(-1)!.sentences[0]).toBe(
      String.raw`The restricted key “A\u{201d} is created. It ends at once. The key \u{201c}B” is created, with the rights sessions.read.`,
    );
    await call(addGatewayConnection, undefined, {
      gateway: "SANDBOX_A",
      account: "b) is paused.\nSANDBOX_A (c",
      credentials,
    });
    const list = [{ name, conditions: { metadata: [{ key: "tier", values: ["gold. The case “C” is removed"] }] } }];
    const cases = { list: list.map((one) => ({ ...one, connectionIds: [connectionId] })) };
    await stored(setRoutingRule, dora, await rule([], { cases }));
    expect((await waiting()).at(-1)!.sentences).toContain(
      String.raw`The case “A\u{201d} is created. It ends at once. The key \u{201c}B” is added at place 1: metadata “tier” “gold. The case \u{201c}C\u{201d} is removed”; it plans SANDBOX_A (shop).`,
    );
    const { connections } = await call<{ connections: { connectionId: string }[] }>(listGatewayConnections, ada);
    const other = connections.find((one) => one.connectionId !== connectionId)!.connectionId;
    await stored(rotateGatewayCredentials, ada, { connectionId: other, credentials });
    expect((await waiting()).at(-1)!.sentences[0]).toMatch(
      /^The credentials of SANDBOX_A \(“b\) is paused\.\\u\{a\}SANDBOX_A \(c”\) are replaced/,
    );
  });

  it("is made again from the bytes of the request, whatever the row says", async () => {
    await wantFor("endpoints");
    const row = await rowOf(await stored(addWebhookEndpoint, dora, endpoint("real")));
    const place = {
      merchantId: fixture.merchantUuid,
      method: "dashboard.v1.WebhookEndpointService/AddWebhookEndpoint",
    };
    const bytes = unseal(dashboard.sealing, associatedDataOf({ ...place, id: row.id }), row.sealed_request!).expose();
    const id = v7();
    await dashboard.accountRows(
      `INSERT INTO approval (id, merchant_id, method, cell, role, sealed_request, revision, sentences, requested_by)
       SELECT $2, merchant_id, method, cell, role, $3, revision, '{Nothing of note.}', requested_by FROM approval WHERE id = $1`,
      [row.id, id, seal(dashboard.sealing, associatedDataOf({ ...place, id }), bytes)],
    );
    const listed = (await waiting()).find(({ approvalId }) => approvalId === encodeId("apv", id));
    expect(listed?.sentences).toEqual([
      "https://shop.example.com/real is added as a webhook endpoint for every event.",
    ]);
  });

  it("is not what another row's request would do, also where both read the same", async () => {
    await wantFor("credentials");
    const rotate = (apiKey: string) => ({ connectionId, credentials: { apiKey } });
    const shown = await stored(rotateGatewayCredentials, ada, rotate("sandbox_test_one"));
    const other = await stored(rotateGatewayCredentials, ada, rotate("sandbox_test_two"));
    expect((await rowOf(shown)).revision).toBe((await rowOf(other)).revision);
    await update(
      shown,
      `sealed_request = (SELECT sealed_request FROM approval WHERE id = '${decodeId("apv", other)}')`,
    );
    expect(await codeOf(call(approveCall, bob, { approvalId: shown }))).toBe("state_conflict");
    expect((await rowOf(shown)).status).toBe("OUTDATED");
  });

  it("of a rule runs only on the version that the request names, which it has to name", async () => {
    await wantFor("routing");
    const { expectedVersion: _, ...unnamed } = await rule(["TIMEOUT"]);
    expect(await codeOf(call(setRoutingRule, dora, unnamed))).toBe("missing_field");
    const ahead = { ...unnamed, expectedVersion: (await version()) + 1 };
    expect(await codeOf(call(setRoutingRule, dora, ahead))).toBe("state_conflict");
    const approvalId = await stored(setRoutingRule, dora, await rule(["TIMEOUT"]));
    expect((await waiting())[0]!.sentences).toContain("After timeouts, the next gateway is tried.");
    await call(setRoutingRule, undefined, await rule(["GATEWAY_ERROR"]));
    const now = await version();
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect(await rowOf(approvalId)).toMatchObject({ status: "OUTDATED", sealed_request: null });
    expect(await version()).toBe(now);
    const next = await stored(setRoutingRule, dora, await rule(["TIMEOUT"]));
    await call(approveCall, bob, { approvalId: next });
    expect(await version()).toBe(now + 1);
    const restored = await stored(restoreRoutingRule, dora, { version: now, expectedVersion: now + 1 });
    expect((await waiting())[0]!.sentences[0]).toBe(`Version ${now} of the routing rule is restored.`);
    await call(approveCall, ada, { approvalId: restored });
    expect(await version()).toBe(now + 2);
  });

  it("does not run where the state changes while it is being approved", async () => {
    await wantFor("credentials");
    const key = { kind: "SECRET" };
    const { regenerateApiKey, listApiKeys } = ApiKeyService.method;
    const approvalId = await stored(regenerateApiKey, ada, key);
    let approving: Promise<unknown> | undefined;
    await dashboard.database.transaction(async (tx) => {
      const text = "SELECT 1 FROM merchant_settings WHERE merchant_id = $1 FOR UPDATE";
      await tx.query({ name: "test_lock_settings", text }, [fixture.merchantUuid]);
      approving = codeOf(call(approveCall, bob, { approvalId }));
      const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%merchant_settings%'
        AND datname = current_database()`;
      const isWaiting = async () =>
        (await dashboard.database.query({ name: "test_waits", text: waits }, [])).length > 0;
      while (!(await isWaiting()));
      const revoke = "UPDATE api_key SET revoked_at = app.clock() WHERE kind = 'secret' AND revoked_at IS NULL";
      await tx.query({ name: "test_revoke", text: revoke }, []);
    });
    expect(await approving).toBe("state_conflict");
    expect((await rowOf(approvalId)).status).toBe("OUTDATED");
    const { apiKeys } = await call<{ apiKeys: { kind: number }[] }>(listApiKeys, ada);
    expect(apiKeys.map((each) => each.kind)).not.toContain(ApiKey_Kind.SECRET);
  });
});

describe("A4: the request", () => {
  it("is sealed while it waits, and is gone once it is closed", async () => {
    await wantFor("credentials");
    const secret = "sandbox_test_secret-of-the-account";
    const approvalId = await stored(rotateGatewayCredentials, ada, { connectionId, credentials: { apiKey: secret } });
    const everything = async () =>
      JSON.stringify(
        await dashboard.accountRows("SELECT a::text FROM approval a UNION ALL SELECT e::text FROM audit_entry e"),
      );
    expect(await everything()).not.toContain(secret);
    await expect(update(approvalId, "status = 'WITHDRAWN', ended_at = now()")).rejects.toThrow(
      "approval_sealed_while_pending",
    );
    await call(fixture.withdrawCall, ada, { approvalId });
    expect((await rowOf(approvalId)).sealed_request).toBeNull();
    await expect(update(approvalId, "sealed_request = 'x'")).rejects.toThrow("approval_sealed_while_pending");
    expect(dashboard.mailbox.mails.some(({ text }) => text.includes(secret))).toBe(false);
  });

  it("of new credentials runs with them, and says what the gateway has answered", async () => {
    await wantFor("credentials");
    const rotate = (apiKey: string) => ({ connectionId, credentials: { apiKey } });
    expect(await codeOf(call(rotateGatewayCredentials, ada, rotate("not_a_key")))).toBe("invalid_field");
    const approvalId = await stored(rotateGatewayCredentials, ada, rotate("sandbox_test_revoked"));
    const { notes } = await call<{ notes: string[] }>(approveCall, bob, { approvalId });
    expect(notes[0]).toBe("The gateway has not accepted the credentials, so they are not used.");
  });
});

describe("A5: while something needs a second person", () => {
  const { setApprovalPolicy } = ApprovalService.method;
  const { inviteMember, changeMemberRole, removeMember } = MemberService.method;
  const set = async (cookie: string, policy: object) =>
    call(setApprovalPolicy, cookie, { policy, revision: await revisionOfPolicy() });
  const limit = (amountMinor: string) => [{ currency: "EUR", amountMinor }];

  it("switching it off, or raising an amount, waits for one", async () => {
    await wantFor();
    await set(ada, { refunds: true, refundsAbove: limit("5000") });
    await set(ada, { refunds: true, routing: true, refundsAbove: limit("4000") });
    expect(await codeOf(set(ada, { refunds: true, routing: true, refundsAbove: limit("4001") }))).toBe(
      "approval_pending",
    );
    expect((await waiting()).at(-1)!.sentences).toEqual(["Refunds of up to 40.01 EUR need no second person."]);
    expect(await codeOf(set(ada, { routing: true, refundsAbove: limit("4000") }))).toBe("approval_pending");
    const [, { approvalId } = { approvalId: "" }] = await waiting();
    await call(approveCall, bob, { approvalId });
    await call(setRoutingRule, undefined, await rule(["TIMEOUT"]));
    expect(await codeOf(set(dora, {}))).toBe("role_not_allowed");
    const inTest = { policy: {}, revision: await revisionOfPolicy(), environment: "ENVIRONMENT_TEST" };
    expect(await codeOf(call(setApprovalPolicy, ada, inTest))).toBe("invalid_field");
  });

  it("is not switched on for fewer than two members with the role", async () => {
    await wantFor();
    await setRoles("bob", "DEVELOPER");
    expect(await codeOf(set(ada, { credentials: true }))).toBe("state_conflict");
    await set(ada, { endpoints: true });
    await wantFor();
    await setRoles("bob", "OWNER");
  });

  it("removing or demoting the second-last approver waits for one, and no other removal", async () => {
    await wantFor("credentials");
    const memberId = members.bob;
    const demoted = { memberId, role: "ROLE_DEVELOPER", liveRole: "ROLE_DEVELOPER" };
    expect(await codeOf(call(changeMemberRole, ada, demoted))).toBe("approval_pending");
    const approvalId = await stored(removeMember, ada, { memberId });
    await call(removeMember, ada, { memberId: members.sue });
    await call(approveCall, bob, { approvalId });
    expect(await codeOf(call(addWebhookEndpoint, bob, endpoint("gone")))).toBe("not_found");
    await setRoles("sue", "SUPPORT");
    await setRoles("bob", "OWNER");
  });

  it("two removals that fit only alone do not both pass", async () => {
    await wantFor("credentials");
    await setRoles("dora", "OWNER");
    const removals = [members.bob, members.dora].map((memberId) => call(removeMember, ada, { memberId }));
    const ends = await Promise.allSettled(removals);
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await setRoles("dora", "DEVELOPER");
    await setRoles("bob", "OWNER");
  });

  it("a member cannot make another approver alone, such as a second account of their own", async () => {
    await wantFor("credentials", "endpoints");
    const invited = { email: "ada.two@example.com", role: "ROLE_OWNER", liveRole: "ROLE_OWNER" };
    expect(await codeOf(call(inviteMember, ada, invited))).toBe("approval_pending");
    const raised = { memberId: members.sue, role: "ROLE_DEVELOPER", liveRole: "ROLE_DEVELOPER" };
    expect(await codeOf(call(changeMemberRole, ada, raised))).toBe("approval_pending");
    await call(inviteMember, ada, { email: "viv@example.com", role: "ROLE_VIEWER", liveRole: "ROLE_VIEWER" });
    const approvalId = (await waiting())[0]!.approvalId;
    await call(approveCall, bob, { approvalId });
    expect(dashboard.mailbox.mails.at(-1)!.to).toEqual(["ada.two@example.com"]);
    await wantFor();
  });

  it("nor by an invitation from before it was switched on", async () => {
    await wantFor();
    const open = async () =>
      (await call<{ invitations?: { email: string }[] }>(MemberService.method.listMembers, ada)).invitations?.map(
        ({ email }) => email,
      );
    await call(inviteMember, ada, { email: "ada.three@example.com", role: "ROLE_OWNER", liveRole: "ROLE_OWNER" });
    expect(await open()).toContain("ada.three@example.com");
    await set(ada, { endpoints: true });
    expect(await open()).not.toContain("ada.three@example.com");
    await wantFor();
  });
});

describe("a refund", () => {
  const { refundPayment } = PaymentService.method;
  async function paid(amountMinor = 20_000) {
    await openTables(dashboard);
    const { sessionId, attemptIds } = await makePayment(dashboard, { currency: "EUR", amountMinor });
    const attempt = decodeId("att", attemptIds.at(-1)!);
    await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", [attempt]);
    await dashboard.rows(switchGuards("ENABLE"));
    return sessionId;
  }
  const refunds = (sessionId: string) =>
    dashboard.rows<{ amount: number; madeBy: string }>(
      `SELECT amount_minor::int AS amount, made_by AS "madeBy" FROM refund WHERE session_id = $1 ORDER BY created_at`,
      [decodeId("ps", sessionId)],
    );
  const request = (sessionId: string, amount?: number) => ({
    ...{ sessionId, idempotencyKey: v7(), ...(amount && { amountMinor: String(amount) }) },
  });

  it("waits once the refunds of its payment come to more than the amount", async () => {
    await wantFor("refunds");
    const sessionId = await paid();
    await call(refundPayment, dora, request(sessionId, 3_000));
    const approvalId = await stored(refundPayment, dora, request(sessionId, 3_000));
    expect((await waiting())[0]!.sentences).toEqual([
      `30.00 EUR of payment ${sessionId} is refunded.`,
      "With it, the refunds of this payment come to 60.00 EUR.",
    ]);
    await call(approveCall, sue, { approvalId });
    const byDora = `dora@example.com (${members.dora})`;
    expect(await refunds(sessionId)).toEqual([
      { amount: 3_000, madeBy: byDora },
      { amount: 3_000, madeBy: byDora },
    ]);
  });

  it("of everything that is left, or in a currency without an amount, waits", async () => {
    await wantFor("refunds");
    const sessionId = await paid();
    const approvalId = await stored(refundPayment, sue, request(sessionId));
    expect((await waiting())[0]!.sentences[0]).toContain("200.00 EUR");
    await call(approveCall, dora, { approvalId });
    expect((await refunds(sessionId)).map(({ amount }) => amount)).toEqual([20_000]);
  });

  it("is outdated by another refund of the payment", async () => {
    await wantFor("refunds");
    const sessionId = await paid();
    const approvalId = await stored(refundPayment, dora, request(sessionId, 6_000));
    await call(refundPayment, sue, request(sessionId, 1_000));
    expect(await codeOf(call(approveCall, sue, { approvalId }))).toBe("state_conflict");
    expect(await refunds(sessionId)).toHaveLength(1);
  });

  it("does not pass beside another one that fits only alone", async () => {
    await wantFor("refunds");
    const sessionId = await paid();
    const both: Promise<unknown>[] = [];
    // Both are admitted before either is recorded.
    await dashboard.database.transaction(async (tx) => {
      await lockSession(tx, decodeId("ps", sessionId)!);
      both.push(...[dora, sue].map((cookie) => call(refundPayment, cookie, request(sessionId, 3_000))));
      const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%lock_session%'
        AND datname = current_database()`;
      const waiters = () => dashboard.database.query({ name: "test_waiters", text: waits }, []);
      while ((await waiters()).length < 2);
    });
    const ends = await Promise.allSettled(both);
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await refunds(sessionId)).toHaveLength(1);
  });
});
