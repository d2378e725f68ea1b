/** Calls that wait for a second person in live, who may approve them (A1), and that each runs once (A2). */
import { describe, expect, it, vi } from "vitest";
import { ApiKeyService } from "../../../gen/dashboard/v1/api_keys_pb.ts";
import { Approval_Status as Status } from "../../../gen/dashboard/v1/approvals_pb.ts";
import { ConfigurationService } from "../../../gen/dashboard/v1/configuration_pb.ts";
import { RefundService } from "../../../gen/dashboard/v1/refunds_pb.ts";
import { WebhookEndpointService } from "../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { expireApprovals } from "../../accounts/approvals.ts";
import { grantRoles } from "../../accounts/members.ts";
import { codeOf } from "../../dev/testing/dashboard/pages.ts";
import { approvalsForFile } from "./approvals.fixture.ts";

const fixture = await approvalsForFile();
const { dashboard, pages, merchantId, members, cookies, call, list, waiting, wantFor, stored } = fixture;
const { approveCall, rejectCall, withdrawCall, addWebhookEndpoint, endpoint, paths, rowOf, update, setRoles, lapse } =
  fixture;
const { ada, bob, dora, sue } = cookies;
const { listWebhookEndpoints, disableWebhookEndpoint, enableWebhookEndpoint } = WebhookEndpointService.method;

const asBob = `status = 'APPROVED', decided_by = '${fixture.uuidOf("bob")}', decision = 'r', ended_at = now(), sealed_request = NULL`;
const recipients = (mails: typeof dashboard.mailbox.mails) => mails.flatMap(({ to }) => to).sort();

describe("a call of a class that is on", () => {
  it("is stored and not run, until another member approves it", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, dora, endpoint("a"));
    expect(await paths()).toEqual([]);
    const [listed] = await waiting();
    expect(listed).toMatchObject({
      sentences: ["https://shop.example.com/a is added as a webhook endpoint for every event."],
      requestedBy: "dora@example.com",
    });
    const answer = await call<{ secrets: { name: string; value: string }[] }>(approveCall, bob, { approvalId });
    const [secret] = answer.secrets;
    expect(secret).toMatchObject({ name: "The new signing secret", value: expect.stringContaining("_whsec_") });
    expect(await paths()).toEqual(["a"]);
    expect(await rowOf(approvalId)).toMatchObject({
      ...{ status: "APPROVED", sealed_request: null, ran_at: expect.any(Date) },
    });
  });

  it("is not stored for a class that is off, in test, or when it only stops something", async () => {
    await wantFor("routing");
    await call(addWebhookEndpoint, dora, endpoint("off"));
    await wantFor("endpoints");
    await call(addWebhookEndpoint, dora, { ...endpoint("in-test"), environment: "ENVIRONMENT_TEST" });
    const { endpoints } = await call<{ endpoints: { endpointId: string }[] }>(listWebhookEndpoints, ada);
    const endpointId = endpoints[0]!.endpointId;
    await call(disableWebhookEndpoint, dora, { endpointId });
    expect(await codeOf(call(enableWebhookEndpoint, dora, { endpointId }))).toBe("approval_pending");
    expect(await waiting()).toHaveLength(1);
  });

  it("waits once, however often it is made", async () => {
    await wantFor("endpoints");
    const first = await stored(addWebhookEndpoint, dora, endpoint("twice"));
    expect(await stored(addWebhookEndpoint, dora, endpoint("twice"))).toBe(first);
    expect(await stored(addWebhookEndpoint, ada, endpoint("twice"))).not.toBe(first);
  });

  it("mails the other members with the role, and no one else", async () => {
    await wantFor("endpoints");
    const before = dashboard.mailbox.mails.length;
    await stored(addWebhookEndpoint, dora, endpoint("mailed"));
    const mails = dashboard.mailbox.mails.slice(before);
    expect(recipients(mails)).toEqual(["ada@example.com", "bob@example.com"]);
    expect(mails[0]!.text).toContain("https://shop.example.com/mailed is added");
    expect(mails[0]!.text).toContain(`https://dashboard.example.com/live/${merchantId}/home#approvals`);
  });

  it("leaves rows of both members in the audit trail, with one request", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, dora, endpoint("audited"));
    await call(approveCall, bob, { approvalId });
    const [requested, approved] = await dashboard.accountRows<{ request_id: string }>(
      "SELECT * FROM audit_entry WHERE subject = $1 ORDER BY id",
      [approvalId],
    );
    const [byDora, byBob] = [`dora@example.com (${members.dora})`, `bob@example.com (${members.bob})`];
    expect(requested).toMatchObject({ action: "AddWebhookEndpoint", actor: byDora });
    expect(approved).toMatchObject({ action: "ApproveCall", actor: byBob });
    const changed = await dashboard.rows("SELECT actor, after FROM audit_entry WHERE request_id = $1", [
      approved!.request_id,
    ]);
    const after = { url: "https://shop.example.com/audited", approvedBy: byBob };
    expect(changed).toEqual([{ actor: byDora, after: expect.objectContaining(after) }]);
  });

  it("of an operator runs at once, and mails the owners", async () => {
    await wantFor("endpoints");
    const before = dashboard.mailbox.mails.length;
    await call(addWebhookEndpoint, undefined, endpoint("operated"));
    expect(await paths()).toContain("operated");
    const mails = dashboard.mailbox.mails.slice(before);
    expect(recipients(mails)).toEqual(["ada@example.com", "bob@example.com"]);
    expect(mails[0]!.text).toContain("The operator ops (op_");
  });

  it("is refused where there is no second person", async () => {
    await wantFor("credentials");
    await setRoles("bob", "DEVELOPER");
    const refused = call(ApiKeyService.method.createRestrictedKey, ada, { name: "K", rights: ["sessions.read"] });
    expect(await codeOf(refused)).toBe("state_conflict");
    await setRoles("bob", "OWNER");
    expect(await waiting()).toEqual([]);
  });
});

describe("A1: the approver", () => {
  it("is another member than the requester", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("own"));
    expect(await codeOf(call(approveCall, ada, { approvalId }))).toBe("role_not_allowed");
    const bySelf = asBob.replace(/'\S{36}'/, "requested_by");
    await expect(update(approvalId, bySelf)).rejects.toThrow(/approval_by_another|two members/);
    await expect(
      update(approvalId, bySelf.replace("'APPROVED'", "'REJECTED'").replace("decision = 'r', ", "")),
    ).rejects.toThrow("approval_by_another");
    expect((await rowOf(approvalId)).status).toBe("PENDING");
  });

  it("has the role of the call in live, and has just confirmed their identity", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("role"));
    expect(await codeOf(call(approveCall, sue, { approvalId }))).toBe("role_not_allowed");
    await setRoles("dora", "DEVELOPER", "SUPPORT");
    expect(await codeOf(call(approveCall, dora, { approvalId }))).toBe("role_not_allowed");
    await setRoles("dora", "DEVELOPER");
    const stale = await pages.enter("Bob");
    await pages.setBack("proved_at", "15 minutes", stale);
    expect(await codeOf(call(approveCall, stale, { approvalId }))).toBe("fresh_sign_in_required");
    const inTest = call(approveCall, bob, { approvalId, environment: "ENVIRONMENT_TEST" });
    expect(await codeOf(inTest)).toBe("invalid_field");
    expect((await rowOf(approvalId)).status).toBe("PENDING");
    await call(approveCall, dora, { approvalId });
  });

  it("cannot run a call of a member who has lost the role or has left", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, dora, endpoint("lost"));
    await setRoles("dora", "VIEWER");
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("role_not_allowed");
    await expect(update(approvalId, asBob)).rejects.toThrow("two members with its role");
    await fixture.dismiss("dora");
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect((await rowOf(approvalId)).status).toBe("OUTDATED");
    await setRoles("dora", "DEVELOPER");
    expect(await paths()).not.toContain("lost");
  });

  it("waits for a change of the requester's role that was first, and then runs nothing", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, dora, endpoint("raced"));
    let approving: Promise<unknown> | undefined;
    await dashboard.accounts.transaction(async (tx) => {
      const roles = { role: "VIEWER", liveRole: "VIEWER" } as const;
      await grantRoles(tx, fixture.merchantUuid, fixture.uuidOf("dora"), roles);
      approving = codeOf(call(approveCall, bob, { approvalId }));
      await dashboard.waitForLock("role_rank");
    });
    expect(await approving).toBe("role_not_allowed");
    await setRoles("dora", "DEVELOPER");
    expect(await paths()).not.toContain("raced");
  });
});

describe("A2: a call", () => {
  it("runs once, whoever approves it at the same time", async () => {
    await wantFor("credentials");
    await setRoles("dora", "OWNER");
    const request = { name: "Reports", rights: ["sessions.read"] };
    const approvalId = await stored(ApiKeyService.method.createRestrictedKey, ada, request);
    const approvals = [bob, dora, bob, dora].map((cookie) => call(approveCall, cookie, { approvalId }));
    const results = await Promise.allSettled(approvals);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { apiKeys } = await call<{ apiKeys: { name: string }[] }>(ApiKeyService.method.listApiKeys, ada);
    expect(apiKeys.filter(({ name }) => name === "Reports")).toHaveLength(1);
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    await setRoles("dora", "DEVELOPER");
  });

  it("that was rejected, withdrawn or approved runs no more: each of these is final", async () => {
    await wantFor("endpoints");
    const rejected = await stored(addWebhookEndpoint, ada, endpoint("rejected"));
    expect(await codeOf(call(rejectCall, ada, { approvalId: rejected }))).toBe("role_not_allowed");
    expect(await codeOf(call(rejectCall, sue, { approvalId: rejected }))).toBe("role_not_allowed");
    await call(rejectCall, bob, { approvalId: rejected });
    const withdrawn = await stored(addWebhookEndpoint, ada, endpoint("withdrawn"));
    expect(await codeOf(call(withdrawCall, bob, { approvalId: withdrawn }))).toBe("role_not_allowed");
    await call(withdrawCall, ada, { approvalId: withdrawn });
    const again = "status = 'PENDING', decided_by = NULL, decision = NULL, ended_at = NULL, sealed_request = 'x'";
    for (const approvalId of [rejected, withdrawn]) {
      expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
      await expect(update(approvalId, again)).rejects.toThrow("a closed approval never changes");
      await expect(update(approvalId, asBob)).rejects.toThrow("a closed approval never changes");
    }
    const { closed } = await list();
    expect(closed.slice(0, 2).map(({ status }) => status)).toEqual([Status.WITHDRAWN, Status.REJECTED]);
    expect(await paths()).not.toContain("rejected");
  });

  it("that no one has decided about ends after 72 hours, with its request", async () => {
    await wantFor("endpoints");
    const { id } = await rowOf(await stored(addWebhookEndpoint, ada, endpoint("late")));
    const copied = await dashboard.accountRows<{ id: string }>(
      `INSERT INTO approval (id, merchant_id, method, cell, role, sealed_request, revision, sentences, requested_by, created_at, expires_at)
       SELECT gen_random_uuid(), merchant_id, method, cell, role, sealed_request, revision, sentences, requested_by,
         created_at - interval '72 hours 1 minute', expires_at - interval '72 hours 1 minute'
       FROM approval WHERE id = $1 RETURNING id`,
      [id],
    );
    const late = copied[0]!.id;
    const inDatabase = dashboard.accountRows(`UPDATE approval SET ${asBob} WHERE id = $1 AND id <> gen_random_uuid()`, [
      late,
    ]);
    await expect(inDatabase).rejects.toThrow("the approval has expired");
    expect(await waiting()).toHaveLength(1);
    expect(await expireApprovals(dashboard.accounts, 10)).toBe(1);
    const [row] = await dashboard.accountRows("SELECT status, sealed_request FROM approval WHERE id = $1", [late]);
    expect(row).toEqual({ status: "EXPIRED", sealed_request: null });
    const longer = dashboard.accountRows(
      "UPDATE approval SET expires_at = expires_at + interval '1 hour' WHERE id = $1",
      [id],
    );
    await expect(longer).rejects.toThrow("the call of an approval never changes");
  });

  it("is not approved, rejected or withdrawn a second after its 72 hours", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("second"));
    await lapse(approvalId);
    for (const [method, cookie] of [
      [approveCall, bob],
      [rejectCall, bob],
      [withdrawCall, ada],
    ] as const) {
      expect(await codeOf(call(method, cookie, { approvalId }))).toBe("state_conflict");
    }
    const { closed } = await list();
    expect(closed.find((one) => one.approvalId === approvalId)).toMatchObject({ status: Status.EXPIRED, ran: false });
    expect(await expireApprovals(dashboard.accounts, 10)).toBe(1);
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect(await rowOf(approvalId)).toMatchObject({ status: "EXPIRED", sealed_request: null });
    expect(await paths()).not.toContain("second");
  });

  it("does not run where it ends while it is being approved", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("ending"));
    let approving: Promise<unknown> | undefined;
    await lapse(approvalId, async () => {
      approving = codeOf(call(approveCall, bob, { approvalId }));
      await dashboard.waitForLock("SET status = 'APPROVED'");
    });
    expect(await approving).toBe("state_conflict");
    expect(await paths()).not.toContain("ending");
    expect(await expireApprovals(dashboard.accounts, 10)).toBe(1);
  });

  it("stays approved when its 72 hours end afterwards", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("in-time"));
    await call(approveCall, bob, { approvalId });
    await lapse(approvalId);
    expect(await expireApprovals(dashboard.accounts, 10)).toBe(0);
    expect(await rowOf(approvalId)).toMatchObject({ status: "APPROVED", ran_at: expect.any(Date) });
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect((await paths()).filter((path) => path === "in-time")).toHaveLength(1);
  });

  it("whose change could not be made durable never runs a second time", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("torn"));
    const { database } = dashboard;
    const transaction = database.transaction.bind(database);
    const torn = vi
      .spyOn(database, "transaction")
      .mockImplementation((work, committing) =>
        transaction(work, committing && (() => committing(() => Promise.reject(new Error("the connection was lost"))))),
      );
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("internal");
    torn.mockRestore();
    expect(await rowOf(approvalId)).toMatchObject({ status: "APPROVED", ran_at: null });
    const { closed } = await list();
    expect(closed.find((one) => one.approvalId === approvalId)).toMatchObject({ status: Status.APPROVED, ran: false });
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect(await paths()).not.toContain("torn");
  });

  it("that fails before it has changed anything keeps waiting", async () => {
    await wantFor("endpoints");
    const approvalId = await stored(addWebhookEndpoint, ada, endpoint("later"));
    const { database } = dashboard;
    const down = vi.spyOn(database, "transaction").mockRejectedValueOnce(new Error("Connection terminated"));
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("unavailable");
    down.mockRestore();
    expect((await rowOf(approvalId)).status).toBe("PENDING");
    await call(approveCall, bob, { approvalId });
    expect(await paths()).toContain("later");
  });
});

describe("a configuration as a whole", () => {
  const { applyConfiguration, getConfiguration } = ConfigurationService.method;
  type Current = { configuration: { webhooks: { endpoints: object[] } }; revision: string };

  it("waits by what it changes, and names its revision", async () => {
    await wantFor("endpoints");
    const { configuration, revision } = await call<Current>(getConfiguration, ada);
    const endpoints = [{ url: "https://shop.example.com/file" }];
    const request = { desired: { webhooks: { endpoints } }, allowRemovals: true };
    expect(await codeOf(call(applyConfiguration, ada, request))).toBe("missing_field");
    // Nothing of the class changes.
    await call(applyConfiguration, ada, {
      desired: { checkout: { sessionLifetimeSeconds: 900, repeatedOrders: "REPEATED_ORDERS_WARN" } },
    });
    expect(configuration).toBeDefined();
    expect(await codeOf(call(applyConfiguration, ada, { ...request, revision }))).toBe("state_conflict");
    const now = (await call<Current>(getConfiguration, ada)).revision;
    const approvalId = await stored(applyConfiguration, ada, { ...request, revision: now });
    await call(approveCall, dora, { approvalId });
    expect(await paths()).toEqual(["file"]);
  });

  it.each([
    ["ROLE_SUPPORT", "support", "Members of the role support"],
    ["ROLE_DEVELOPER", "developers", "Developers"],
    ["ROLE_OWNER", "owners", "Owners"],
  ])("shows the limit of refunds of %s, and is outdated by another one", async (role, field, who) => {
    await wantFor("endpoints");
    const { revision } = await call<Current>(getConfiguration, ada);
    const limits = [{ currency: "EUR", amountMinor: "7000" }];
    const desired = {
      webhooks: { endpoints: [{ url: `https://shop.example.com/${field}` }] },
      refundLimits: { [field]: limits },
    };
    const approvalId = await stored(applyConfiguration, ada, { desired, revision, allowRemovals: true });
    expect((await waiting()).at(-1)!.sentences).toContain(`${who} refund at most 70.00 EUR per day each.`);
    await call(RefundService.method.setRefundLimits, undefined, {
      role,
      limits: [{ currency: "EUR", amountMinor: "100" }],
    });
    expect(await codeOf(call(approveCall, bob, { approvalId }))).toBe("state_conflict");
    expect((await rowOf(approvalId)).status).toBe("OUTDATED");
  });
});
