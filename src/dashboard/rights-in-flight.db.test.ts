import { type DescMethod, getOption, hasOption, type JsonValue } from "@bufbuild/protobuf";
import { Secret as OtpSecret, TOTP } from "otpauth";
import { describe, expect, it, onTestFinished } from "vitest";
import { ApprovalDecisionService } from "../../gen/dashboard/v1/approvals_pb.ts";
import { Access, access, Role, role } from "../../gen/dashboard/v1/role_pb.ts";
import { linkIdentity } from "../accounts/identities.ts";
import type { IdentityProvider } from "../accounts/identity-providers-file.ts";
import { answeredRequests, type KnownIds } from "../dev/testing/dashboard/answered-requests.ts";
import { Authenticator } from "../dev/testing/dashboard/authenticator.ts";
import { HostileProvider } from "../dev/testing/dashboard/hostile-provider.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { decodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { memberPassword, startDashboardFixture } from "./dashboard.fixture.ts";
import { isChanging } from "./guard.ts";
import { includesRole } from "./roles/role-rank.ts";
import { dashboardServices, signInServices } from "./service-list.ts";

const pages = new Pages(() => dashboard);
const company = await forFile(() => HostileProvider.start());
const provider: IdentityProvider = {
  ...{ id: "corp", name: "Example Corp", issuer: company.issuer, clientId: "switchyard", merchants: "*" },
  ...{ clientSecret: new Secret("s"), privateKey: undefined, domains: ["corp.example"], isExclusive: false },
  ...{ secondFactor: undefined, roles: undefined },
};
const [dashboard, receiver] = await Promise.all([
  forFile(() => startDashboardFixture({ members: true, identityProviders: [provider] })),
  forFile(() => Receiver.start()),
]);

const methods = [...dashboardServices, ...signInServices].flatMap((service) => service.methods).filter(isChanging);
const methodNamed = (name: string) => methods.find((method) => method.name === name)!;
// approvals.db.test.ts has those that decide about calls of others.
const decisions = methods.filter(({ parent }) => parent === ApprovalDecisionService);
const ofMerchants = methods.filter((method) => hasOption(method, role) && !decisions.includes(method));
const ofAccounts = methods.filter((method) => getOption(method, access) === Access.MEMBER);

/** Revokes a right by SQL while a call is between arrival and the end of its change; returns its error code. */
async function codeAfter(taking: string, values: readonly unknown[], call: () => Promise<unknown>) {
  const client = await dashboard.accounts.pool.connect();
  try {
    await client.query("BEGIN");
    await client.query(taking, [...values]);
    // Uncommitted, so the call is admitted. A call that does not check again ends here.
    const code = codeOf(call());
    const settled = await Promise.race([
      dashboard.waitForLock("FOR NO KEY UPDATE").then(() => "waits"),
      code.then((early) => `refused early: ${early}`),
    ]);
    await client.query("COMMIT");
    return [settled, await code];
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}

const auditRows = async () => {
  const text = "SELECT id FROM audit_entry ORDER BY id";
  return JSON.stringify(await Promise.all([dashboard.rows(text), dashboard.accountRows(text)]));
};

const idOf = (memberId: string) => decodeId("mbr", memberId);

// A test calls every rpc in turn, each with four rights.
describe("a right that is revoked while a call runs", { timeout: 180_000 }, () => {
  it("ends every call about a merchant: of removed, demoted or signed-out members and revoked operators", async () => {
    const operator = await dashboard.hireOperator("ada");
    const { memberId } = await dashboard.addMember("Otto", "OWNER");
    await dashboard.addMember("Other", "OWNER");
    const cookie = await pages.enter("Otto");
    const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" };
    const ids: KnownIds = { connectionId: "", endpointId: "", invitationId: "" };
    const byOperator = (name: string, request: object) =>
      pages.call(methodNamed(name), undefined, request as JsonValue, operator);
    const requests = await answeredRequests({ dashboard, scope, ids, receiverUrl: receiver.url, call: byOperator });
    const walked: string[] = [];
    for (const [name, request] of Object.entries(requests)) {
      const method = methodNamed(name);
      if (method === undefined) continue;
      walked.push(name);
      const message = (await request()) as JsonValue;
      const before = await auditRows();
      const asOwner = () => pages.call(method, cookie, message);
      if (includesRole(Role.OWNER, getOption(method, role))) {
        const who = [idOf(memberId)];
        const removal = await codeAfter("DELETE FROM membership WHERE member_id = $1", who, asOwner);
        expect([name, ...removal]).toEqual([name, "waits", "not_found"]);
        await dashboard.accountRows(
          "INSERT INTO membership SELECT id, $1, 'OWNER', 'OWNER' FROM merchant ORDER BY id LIMIT 1",
          who,
        );
        if (!includesRole(Role.VIEWER, getOption(method, role))) {
          const demote = "UPDATE membership SET role = 'VIEWER', live_role = 'VIEWER' WHERE member_id = $1";
          expect([name, ...(await codeAfter(demote, who, asOwner))]).toEqual([name, "waits", "role_not_allowed"]);
          await dashboard.accountRows(
            "UPDATE membership SET role = 'OWNER', live_role = 'OWNER' WHERE member_id = $1",
            who,
          );
        }
        const end = "UPDATE sign_in SET ended_at = clock_timestamp() WHERE member_id = $1";
        expect([name, ...(await codeAfter(end, who, asOwner))]).toEqual([name, "waits", "sign_in_required"]);
        await dashboard.accountRows("UPDATE sign_in SET ended_at = NULL WHERE member_id = $1", who);
      }
      const revoke = "UPDATE operator_token SET revoked_at = clock_timestamp() WHERE label = 'ada'";
      const revoked = await codeAfter(revoke, [], () => byOperator(name, message as object));
      expect([name, ...revoked]).toEqual([name, "waits", "invalid_key"]);
      await dashboard.accountRows("UPDATE operator_token SET revoked_at = NULL WHERE label = 'ada'");
      expect(await auditRows(), name).toBe(before);
      const answer = (await byOperator(name, message as object)) as Record<string, object>;
      Object.assign(ids, answer.connection, answer.endpoint, answer.invitation);
    }
    expect(walked.sort()).toEqual(ofMerchants.map(({ name }) => name).sort());
  });

  it("ends every call about the member's own account", async () => {
    const { memberId } = await dashboard.addMember("Mia", "OWNER");
    const [cookie, other] = [await pages.enter("Mia"), await pages.enter("Mia")];
    const { signInId } = await pages.signIns(other).getCurrentSignIn({});
    const device = new Authenticator("https://dashboard.example.com");
    const offered = async () => (await pages.passkeys(cookie).offerPasskey({})).options;
    const { passkey } = await pages
      .passkeys(cookie)
      .addPasskey({ credential: device.create(await offered()), name: "Phone" });
    const { passkeyId } = passkey!;
    const { secret } = await pages.signIns(cookie).offerTotp({});
    const app = new TOTP({ secret: OtpSecret.fromBase32(secret) });
    const requests: Record<string, () => JsonValue | Promise<JsonValue>> = {
      ProveSignIn: () => ({ password: memberPassword }),
      SignOut: () => ({}),
      RevokeSignIn: () => ({ signInId }),
      ChangePassword: () => ({ newPassword: "another good horse" }),
      OfferTotp: () => ({}),
      ConfirmTotp: () => ({ code: app.generate() }),
      RemoveTotp: () => ({}),
      OfferPasskey: () => ({}),
      OpenMerchant: () => ({ name: "Tea House" }),
      AddPasskey: async () => ({
        name: "Laptop",
        credential: new Authenticator("https://dashboard.example.com").create(await offered()),
      }),
      BeginCompanyLink: () => ({ providerId: "corp" }),
      BeginCompanyProof: async () => {
        // As if it had begun there.
        await dashboard.accountRows(
          "UPDATE sign_in SET provider_id = 'corp', issuer = $2, subject = 'mia' WHERE member_id = $1",
          [idOf(memberId), company.issuer],
        );
        return {};
      },
      RemoveIdentity: async () => {
        const link = { memberId: idOf(memberId)!, email: undefined };
        await dashboard.accounts.transaction((tx) =>
          linkIdentity(tx, { issuer: company.issuer, subject: "mia" }, link),
        );
        return { issuer: company.issuer };
      },
      RenamePasskey: () => ({ passkeyId, name: "Old phone" }),
      RemovePasskey: () => ({ passkeyId }),
      BeginPasskeyProof: () => ({}),
      ProveWithPasskey: async () => {
        const { options } = await pages.passkeys(cookie).beginPasskeyProof({});
        return { credential: device.get(options) };
      },
    };
    expect(Object.keys(requests).sort()).toEqual(ofAccounts.map(({ name }) => name).sort());
    const state = async () => {
      const of = (table: string, columns: string) =>
        dashboard.accountRows(`SELECT ${columns} FROM ${table} WHERE member_id = $1 ORDER BY 1`, [idOf(memberId)]);
      return JSON.stringify([
        await dashboard.accountRows("SELECT * FROM member WHERE id = $1", [idOf(memberId)]),
        await of("sign_in", "id, token_hash, proved_at, ended_at"),
        await of("passkey", "id, name, sign_count"),
        await auditRows(),
      ]);
    };
    for (const [name, request] of Object.entries(requests)) {
      const message = await request();
      const before = await state();
      const end = "UPDATE sign_in SET ended_at = clock_timestamp() WHERE id = $1";
      const id = decodeId("sgn", (await pages.signIns(cookie).getCurrentSignIn({})).signInId);
      const refusal = await codeAfter(end, [id], () => pages.call(methodNamed(name), cookie, message));
      expect([name, ...refusal]).toEqual([name, "waits", "sign_in_required"]);
      await dashboard.accountRows("UPDATE sign_in SET ended_at = NULL WHERE id = $1", [id]);
      expect(await state(), name).toBe(before);
    }
  });

  it("cannot be restored by its holder: a demoted owner stays a viewer", async () => {
    const { memberId } = await dashboard.addMember("Dot", "OWNER");
    const cookie = await pages.enter("Dot");
    const { merchantId } = dashboard;
    const again = () =>
      pages.members(cookie).changeMemberRole({ merchantId, memberId, role: Role.OWNER, liveRole: Role.OWNER });
    const demote = "UPDATE membership SET role = 'VIEWER', live_role = 'VIEWER' WHERE member_id = $1";
    expect(await codeAfter(demote, [idOf(memberId)], again)).toEqual(["waits", "role_not_allowed"]);
    const rows = await dashboard.accountRows("SELECT role FROM membership WHERE member_id = $1", [idOf(memberId)]);
    expect(rows).toEqual([{ role: "VIEWER" }]);
  });

  it("ends with the token that a new proof has replaced, for calls that require a fresh one", async () => {
    const { memberId } = await dashboard.addMember("Fay", "OWNER");
    const cookie = await pages.enter("Fay");
    const prove = `UPDATE sign_in SET earlier_token_hash = token_hash, token_hash = sha256('newer'), token_replaced_at = clock_timestamp()
      WHERE member_id = $1`;
    const change = () => pages.signIns(cookie).changePassword({ newPassword: "another good horse" });
    expect(await codeAfter(prove, [idOf(memberId)], change)).toEqual(["waits", "fresh_sign_in_required"]);
  });

  it("waits for one change at a time, however many calls overlap", async () => {
    const { memberId } = await dashboard.addMember("Stu", "OWNER");
    const cookie = await pages.enter("Stu");
    const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" };
    const method = methodNamed("SetSessionLifetime");
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    let calls = 0;
    const stream = async () => {
      while (!isOver) {
        await pages.call(method, cookie, { ...scope, sessionLifetimeSeconds: 900 }).catch(() => {});
        calls++;
      }
    };
    const streams = Array.from({ length: 6 }, stream);
    while (calls < 6) await pages.signIns(cookie).getCurrentSignIn({});
    const other = await pages.enter("Other");
    await pages.members(other).removeMember({ merchantId: dashboard.merchantId, memberId });
    const before = await auditRows();
    isOver = true;
    await Promise.all(streams);
    expect(await auditRows()).toBe(before);
  });
});

/** Checks that none of the lists above is empty because of its filter. */
it("covers every rpc", () => {
  const isKnown = (list: readonly DescMethod[], name: string) => list.some((method) => method.name === name);
  expect([isKnown(ofMerchants, "RegenerateApiKey"), isKnown(ofAccounts, "ChangePassword")]).toEqual([true, true]);
});
