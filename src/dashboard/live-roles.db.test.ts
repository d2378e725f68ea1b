/** A member's role is that of the environment that a call names. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { fresh, fresh_in_live as freshInLive, Role, role } from "../../gen/dashboard/v1/role_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { restOf } from "../dev/testing/dashboard/sample-requests.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { decodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { includesRole } from "./roles/role-rank.ts";
import { dashboardServices } from "./service-list.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true, live: "besideTest" }));
const cookies = {
  olive: await pages.join("Olive", "OWNER"),
  grace: await pages.join("Grace", "DEVELOPER", "VIEWER"),
  nora: await pages.join("Nora", "DEVELOPER", "NONE"),
  liv: await pages.join("Liv", "VIEWER", "DEVELOPER"),
  sue: await pages.join("Sue", "SUPPORT"),
  dev: await pages.join("Dev", "DEVELOPER", "SUPPORT"),
};

const namesOf = (method: DescMethod) => method.input.fields.map(({ name }) => name);
const scoped = dashboardServices
  .flatMap((service) => service.methods)
  .filter(
    (method) =>
      hasOption(method, role) && ["merchant_id", "environment"].every((name) => namesOf(method).includes(name)),
  );
const needing = (needed: Role) =>
  scoped
    .filter((method) => getOption(method, role) === needed)
    .map((method): [string, DescMethod] => [`${method.parent.name}.${method.name}`, method]);

/** Returns the code of a call's refusal, undefined if it is not refused. */
async function refusalOf(method: DescMethod, cookie: string, environment: "TEST" | "LIVE") {
  const { merchantId } = dashboard;
  const request = { ...restOf(method), merchantId, environment: `ENVIRONMENT_${environment}` };
  const call = pages.call(method, cookie, request);
  const isRefused = await call.then(() => false).catch(() => true);
  return isRefused ? codeOf(call) : undefined;
}
const refused = "role_not_allowed";

describe("the role in live", () => {
  it.each(needing(Role.DEVELOPER))("decides about %s, and not the role in test", async (_, method) => {
    expect(await refusalOf(method, cookies.grace, "LIVE")).toBe(refused);
    expect(await refusalOf(method, cookies.liv, "TEST")).toBe(refused);
    expect(await refusalOf(method, cookies.liv, "LIVE")).not.toBe(refused);
    expect(await refusalOf(method, cookies.grace, "TEST")).not.toBe(refused);
  });

  it.each(needing(Role.VIEWER))("if it is none, admits to no %s", async (_, method) => {
    expect(await refusalOf(method, cookies.nora, "LIVE")).toBe(refused);
    expect(await refusalOf(method, cookies.nora, "TEST")).not.toBe(refused);
  });

  it("does not count for what test and live share", async () => {
    const { merchantId } = dashboard;
    await pages.members(cookies.nora).listMembers({ merchantId });
  });
});

describe("a proof of identity that is older than 15 minutes", () => {
  const inLive = scoped.filter((method) => getOption(method, freshInLive));

  it("is enough in test for rules and endpoints, but not in live", async () => {
    const stale = await pages.enterStale("olive");
    expect(inLive.map(({ name }) => name).sort()).toEqual([
      "EnableWebhookEndpoint",
      "RemoveWebhookEndpoint",
      "RestoreRoutingRule",
      "ResumeWebhookEndpoint",
      "SetRoutingRule",
    ]);
    for (const method of inLive) {
      expect(await refusalOf(method, stale, "LIVE"), method.name).toBe("fresh_sign_in_required");
      expect(await refusalOf(method, stale, "TEST"), method.name).not.toBe("fresh_sign_in_required");
      expect(await refusalOf(method, cookies.olive, "LIVE"), method.name).not.toBe("fresh_sign_in_required");
    }
  });

  it("cannot change a rule of live by its configuration as a whole", () => {
    const apply = scoped.find(({ name }) => name === "ApplyConfiguration")!;
    expect(getOption(apply, fresh)).toBe(true);
  });
});

describe("support", () => {
  it("may refund, capture and cancel, and otherwise what a viewer may", async () => {
    const names = needing(Role.SUPPORT).map(([name]) => name);
    expect(names).toEqual([
      "PaymentService.RefundPayment",
      "PaymentService.CapturePayment",
      "PaymentService.CancelPayment",
    ]);
    for (const method of scoped) {
      const isAllowed = includesRole(Role.SUPPORT, getOption(method, role));
      const code = await refusalOf(method, cookies.sue, "LIVE");
      if (isAllowed) expect(code, method.name).not.toBe(refused);
      else expect(code, method.name).toBe(refused);
    }
  });
});

describe("the daily limit", () => {
  async function paid() {
    await openTables(dashboard);
    const { sessionId, attemptIds } = await makePayment(dashboard, { currency: "USD" });
    const attempt = decodeId("att", attemptIds.at(-1)!);
    await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE id = $1", [attempt]);
    await dashboard.rows(switchGuards("ENABLE"));
    return { merchantId: dashboard.merchantId, sessionId, idempotencyKey: v7() };
  }
  const set = (limited: Role, amountMinor: bigint) =>
    pages.refunds(cookies.olive).setRefundLimits({
      merchantId: dashboard.merchantId,
      environment: Environment.LIVE,
      role: limited,
      limits: [{ currency: "USD", amountMinor }],
    });

  it("of support ends its refunds at the amount", async () => {
    await set(Role.SUPPORT, 500n);
    const refund = async (amountMinor: bigint) =>
      pages.payments(cookies.sue).refundPayment({ ...(await paid()), environment: Environment.LIVE, amountMinor });
    await refund(300n);
    const over = refund(201n);
    expect(await codeOf(over)).toBe(refused);
    await expect(over).rejects.toThrow("at most 5.00 USD per day (UTC), and 2.00 USD of it is left today");
    await refund(200n);
  });

  it("is that of the role in the environment of the refund", async () => {
    await set(Role.SUPPORT, 0n);
    await set(Role.DEVELOPER, 10_000n);
    const of = await paid();
    const refund = (environment: Environment) =>
      pages.payments(cookies.dev).refundPayment({ ...of, environment, amountMinor: 100n });
    expect(await codeOf(refund(Environment.LIVE))).toBe(refused);
    await refund(Environment.TEST);
  });

  it("of 0 ends refunds by developers", async () => {
    await set(Role.DEVELOPER, 0n);
    const call = pages
      .payments(cookies.liv)
      .refundPayment({ ...(await paid()), environment: Environment.LIVE, amountMinor: 1n });
    expect(await codeOf(call)).toBe(refused);
  });
});

describe("an owner", () => {
  it("is one in test and live, by an rpc", async () => {
    const { merchantId } = dashboard;
    const { memberId } = await dashboard.addMember("Una", "VIEWER");
    const change = (roles: { role: Role; liveRole: Role }) =>
      pages.members(cookies.olive).changeMemberRole({ merchantId, memberId, ...roles });
    for (const roles of [
      { role: Role.OWNER, liveRole: Role.DEVELOPER },
      { role: Role.VIEWER, liveRole: Role.OWNER },
    ]) {
      expect(await codeOf(change(roles))).toBe("invalid_field");
      const invited = pages.members(cookies.olive).inviteMember({ merchantId, email: "una2@example.com", ...roles });
      expect(await codeOf(invited)).toBe("invalid_field");
    }
    await change({ role: Role.DEVELOPER, liveRole: Role.SUPPORT });
    const { members } = await pages.members(cookies.olive).listMembers({ merchantId });
    expect(members.find((member) => member.memberId === memberId)).toMatchObject({
      role: Role.DEVELOPER,
      liveRole: Role.SUPPORT,
    });
    const [row] = await dashboard.accountRows(
      "SELECT before, after FROM audit_entry WHERE action = 'ChangeMemberRole'",
    );
    expect(row).toEqual({
      before: { role: "VIEWER", liveRole: "VIEWER" },
      after: { role: "DEVELOPER", liveRole: "SUPPORT" },
    });
  });

  it.each(["membership", "invitation"])("is one in test and live, in every row of %s", async (table) => {
    const { merchantId } = dashboard;
    await pages.members(cookies.olive).inviteMember({
      merchantId,
      email: "una3@example.com",
      role: Role.VIEWER,
      liveRole: Role.NONE,
    });
    for (const half of ["role = 'VIEWER', live_role = 'OWNER'", "role = 'OWNER', live_role = 'VIEWER'"]) {
      await expect(dashboard.accountRows(`UPDATE ${table} SET ${half}`)).rejects.toThrow(`${table}_check`);
    }
  });
});

describe("switchyard member", () => {
  it("changes both roles, and lists them", async () => {
    const operator = await dashboard.hireOperator("ada");
    const env = { SWITCHYARD_OPERATOR_TOKEN: operator.expose() };
    const at = ["--grpc-address", dashboard.address, "--merchant", dashboard.merchantId];
    const run = (...args: string[]) => runCommandHere(["member", ...args, ...at], { env });
    await dashboard.addMember("Carl", "VIEWER");
    const named = ["set-role", "--email", "carl@example.com"];
    const changed = await run(...named, "--role", "developer", "--live-role", "none");
    expect(changed).toMatchObject({ code: 0, out: "carl@example.com is developer in test, none in live.\n" });
    const listed = await run("list");
    expect(listed.out).toContain("carl@example.com  test: developer  live: none  second factor: no\n");
    await run(...named, "--role", "support");
    expect((await run("list")).out).toContain("carl@example.com  test: support  live: support");
    const half = await run(...named, "--role", "owner", "--live-role", "viewer");
    expect(half).toMatchObject({ code: 1, err: expect.stringContaining("An owner is one in test and live") });
    const unknown = await run("set-role", "--email", "none@example.com", "--role", "viewer");
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("No member has this address") });
  });
});

it("an error about a role names who can change it", async () => {
  const { merchantId } = dashboard;
  const listed = pages.payments(cookies.nora).listPayments({ merchantId, environment: Environment.LIVE });
  const error = ConnectError.from(await listed.catch((reason: unknown) => reason));
  expect(error.rawMessage).toContain("An owner of the merchant can give you another role");
});
