/** A merchant of live with two owners, a developer and support, who want a second person. */
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { Client } from "pg";
import { afterEach, expect } from "vitest";
import { ApprovalDecisionService, ApprovalService } from "../../../gen/dashboard/v1/approvals_pb.ts";
import { WebhookEndpointService } from "../../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { type ApprovalClass, expireEveryApproval } from "../../accounts/approvals.ts";
import { grantRoles, type LiveRole, type MemberRole, removeMembership } from "../../accounts/members.ts";
import { codeOf, Pages } from "../../dev/testing/dashboard/pages.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { decodeId } from "../../platform/ids.ts";
import { startDashboardFixture } from "../dashboard.fixture.ts";

type Listed = { approvalId: string; sentences: string[]; status: number; requestedBy: string; ran: boolean };
type Row = {
  id: string;
  status: string;
  sealed_request: string | null;
  revision: string;
  decided_by: string | null;
  ran_at: Date | null;
};

/** Starts approvals for the tests of one file. Waiting approvals are closed after each test. */
export async function approvalsForFile() {
  const dashboard = await forFile(() => startDashboardFixture({ members: true, live: "besideTest" }));
  const pages = new Pages(() => dashboard);
  const operator = await dashboard.hireOperator("ops");
  const { merchantId } = dashboard;
  const members: Record<string, string> = {};
  const cookies = { ada: "", bob: "", dora: "", sue: "" };
  const roles = { ada: "OWNER", bob: "OWNER", dora: "DEVELOPER", sue: "SUPPORT" } as const;
  for (const name of Object.keys(cookies) as (keyof typeof cookies)[]) {
    members[name] = (await dashboard.addMember(name, roles[name])).memberId;
    cookies[name] = await pages.enter(name);
  }
  /** Calls in live, as a member, or without a cookie as an operator. */
  const call = <Answer = Record<string, unknown>>(
    method: DescMethod,
    cookie: string | undefined,
    request: object = {},
  ): Promise<Answer> => {
    const has = (name: string) => method.input.fields.some((field) => field.name === name);
    const scope = { merchantId, ...(has("environment") && { environment: "ENVIRONMENT_LIVE" }) };
    const sent = { ...scope, ...request } as JsonValue;
    return pages.call(method, cookie, sent, cookie ? undefined : operator) as Promise<Answer>;
  };
  const { getApprovalPolicy, setApprovalPolicy, listApprovals } = ApprovalService.method;
  const revisionOfPolicy = async () => (await call<{ revision: string }>(getApprovalPolicy, undefined)).revision;
  const list = () => call<{ waiting: Listed[]; closed: Listed[] }>(listApprovals, cookies.sue);
  const waiting = async () => (await list()).waiting;
  const merchantUuid = decodeId("mer", merchantId)!;
  const uuidOf = (name: string) => decodeId("mbr", members[name]!)!;
  const { addWebhookEndpoint, listWebhookEndpoints } = WebhookEndpointService.method;
  afterEach(async () => {
    await dashboard.accounts.transaction((tx) => expireEveryApproval(tx));
  });
  return {
    ...{ dashboard, pages, merchantId, members, cookies, call, list, waiting, revisionOfPolicy, addWebhookEndpoint },
    ...ApprovalDecisionService.method,
    /** Sets what needs a second person, as an operator, who needs none. */
    async wantFor(...classes: ApprovalClass[]): Promise<void> {
      const policy = Object.fromEntries(classes.map((name) => [name, true]));
      const refundsAbove = [{ currency: "EUR", amountMinor: "5000" }];
      const revision = await revisionOfPolicy();
      await call(setApprovalPolicy, undefined, { policy: { ...policy, refundsAbove }, revision });
    },
    /** Makes a call that waits, and returns its id. */
    async stored(method: DescMethod, cookie: string, request: object): Promise<string> {
      expect(await codeOf(call(method, cookie, request))).toBe("approval_pending");
      return (await waiting()).at(-1)!.approvalId;
    },
    endpoint: (path: string) => ({ url: `https://shop.example.com/${path}` }),
    async paths(): Promise<string[]> {
      const { endpoints } = await call<{ endpoints: { url: string }[] }>(listWebhookEndpoints, cookies.ada);
      return endpoints.map(({ url }) => new URL(url).pathname.slice(1));
    },
    async rowOf(approvalId: string): Promise<Row> {
      const text = "SELECT * FROM approval WHERE id = $1";
      return (await dashboard.accountRows<Row>(text, [decodeId("apv", approvalId)]))[0]!;
    },
    /** Writes to the row as an adversary would who has the service's own role in the database. */
    update: (approvalId: string, change: string) =>
      dashboard.accountRows(`UPDATE approval SET ${change} WHERE id = $1`, [decodeId("apv", approvalId)]),
    /**
     * Moves a call into the past, so that its 72 hours are over since a second. `meanwhile` runs before, while no other transaction can
     * change a call.
     */
    async lapse(approvalId: string, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
      const age = "interval '72 hours 1 second'";
      const owner = new Client({ connectionString: dashboard.accountsOwnerUrl });
      await owner.connect();
      try {
        await owner.query("BEGIN; ALTER TABLE approval DISABLE TRIGGER guard");
        await meanwhile();
        await owner.query(
          `UPDATE approval SET created_at = created_at - ${age}, expires_at = expires_at - ${age} WHERE id = $1`,
          [decodeId("apv", approvalId)],
        );
        await owner.query("ALTER TABLE approval ENABLE TRIGGER guard; COMMIT");
      } finally {
        await owner.end();
      }
    },
    setRoles: (name: string, role: MemberRole, liveRole: LiveRole = role) =>
      dashboard.accounts.transaction((tx) => grantRoles(tx, merchantUuid, uuidOf(name), { role, liveRole })),
    dismiss: (name: string) => dashboard.accounts.transaction((tx) => removeMembership(tx, merchantUuid, uuidOf(name))),
    uuidOf,
    merchantUuid,
  };
}
