import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { ReceivedMail } from "../dev/testing/mailbox.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const { scope } = dashboard;

const subjectOf = ({ headers }: ReceivedMail) => new Map(headers).get("subject");
const mailsTo = (address: string) => dashboard.mailbox.mails.filter(({ to }) => to.includes(address));
const tokenMailedTo = (address: string) =>
  /^https:\/\/dashboard\.example\.com\/alert-address#(\S+)$/m.exec(mailsTo(address).at(-1)!.text)![1]!;

describe("an address for alerts", () => {
  it("gets nothing but the request to confirm until it has confirmed, once", async () => {
    const address = "ops@example.com";
    const set = await client.alerts.setAlertAddresses({ ...scope, addresses: [address] });
    expect(set).toMatchObject({ addresses: [address], unconfirmed: [address] });
    expect(mailsTo(address).map(subjectOf)).toEqual(["Confirm your address for alerts"]);
    const { results } = await client.alertSettings.sendTestAlert(scope);
    expect(results).toMatchObject([
      { recipient: address, accepted: false, problem: expect.stringMatching(/not confirmed/) },
    ]);
    expect(new Set(mailsTo(address).map(subjectOf))).toEqual(new Set(["Confirm your address for alerts"]));
    const token = tokenMailedTo(address);
    const confirmed = await pages.signIns().confirmAlertAddress({ token });
    expect(confirmed).toMatchObject({ address, merchantName: "Corner Coffee" });
    expect(await client.alerts.getAlertAddresses(scope)).toMatchObject({ addresses: [address], unconfirmed: [] });
    expect(await codeOf(pages.signIns().confirmAlertAddress({ token }))).toBe("not_found");
    expect((await client.alertSettings.sendTestAlert(scope)).results).toEqual([
      { recipient: address, accepted: true, problem: "" },
    ]);
    expect(subjectOf(mailsTo(address).at(-1)!)).toBe("[test] Test alert");
    const rows = await dashboard.rows("SELECT actor, after FROM audit_entry WHERE action = 'ConfirmAlertAddress'");
    expect(rows).toEqual([{ actor: address, after: { confirmed: address } }]);
  });

  it("cannot be confirmed once it was removed, by a changed link, or after a week", async () => {
    const address = "left@example.com";
    await client.alerts.setAlertAddresses({ ...scope, addresses: [address] });
    const token = tokenMailedTo(address);
    await client.alerts.setAlertAddresses({ ...scope, addresses: [] });
    const codes = [token, `${token.slice(0, -2)}AA`, "nothing"].map((each) =>
      codeOf(pages.signIns().confirmAlertAddress({ token: each })),
    );
    expect(await Promise.all(codes)).toEqual(["not_found", "not_found", "not_found"]);
    await client.alerts.setAlertAddresses({ ...scope, addresses: [address] });
    const late = tokenMailedTo(address);
    const week = 7 * 24 * 60 * 60_000;
    const mailedAt = Date.now();
    const now = vi.spyOn(systemRuntime, "now");
    onTestFinished(() => now.mockRestore());
    now.mockImplementation(() => new Date(mailedAt + week));
    expect(await codeOf(pages.signIns().confirmAlertAddress({ token: late }))).toBe("not_found");
    now.mockImplementation(() => new Date(mailedAt + week - 60_000));
    expect(await pages.signIns().confirmAlertAddress({ token: late })).toMatchObject({ address });
  });

  it("has to confirm again after it was removed and entered again", async () => {
    const address = "again@example.com";
    await client.alerts.setAlertAddresses({ ...scope, addresses: [address, "other@example.com"] });
    await pages.signIns().confirmAlertAddress({ token: tokenMailedTo(address) });
    const kept = await client.alerts.setAlertAddresses({ ...scope, addresses: [address] });
    expect(kept.unconfirmed).toEqual([]);
    await client.alerts.setAlertAddresses({ ...scope, addresses: [] });
    expect((await client.alerts.setAlertAddresses({ ...scope, addresses: [address] })).unconfirmed).toEqual([address]);
  });

  it("cannot be confirmed by a link from before it was removed and entered again", async () => {
    const address = "returned@example.com";
    const set = (addresses: string[]) => client.alerts.setAlertAddresses({ ...scope, addresses });
    await set([address]);
    const old = tokenMailedTo(address);
    await set([]);
    await set([address]);
    const renewed = tokenMailedTo(address);
    expect(await codeOf(pages.signIns().confirmAlertAddress({ token: old }))).toBe("not_found");
    // Adding another address ends no request.
    await set([address, "second@example.com"]);
    expect(await pages.signIns().confirmAlertAddress({ token: renewed })).toMatchObject({ address });
  });
});

describe("mails that people cause", () => {
  const mailboxMax = 20;
  const mailsOfMerchantMax = 5;
  const newScope = async (name: string) => {
    const { merchant } = await client.merchants.createMerchant({ name });
    return { ...scope, merchantId: merchant!.merchantId! };
  };

  it("are counted for each mailbox, whatever the tag or the case, for one merchant and for all", async () => {
    const variants = ["vic.tim@gmail.com", "Victim+1@gmail.com", "v.ictim+a@googlemail.com", "VICTIM@GMAIL.COM"];
    const received = () => dashboard.mailbox.mails.filter(({ to }) => /v\.?ic\.?tim/i.test(String(to)));
    const mailAll = async (each: typeof scope) => {
      await client.alerts.setAlertAddresses({ ...each, addresses: variants });
      return (await client.alertSettings.sendTestAlert(each)).results ?? [];
    };
    const results = await mailAll(scope);
    expect(received()).toHaveLength(mailsOfMerchantMax);
    for (const name of ["Tea House", "Book Shop", "Bakery", "Florist"]) await mailAll(await newScope(name));
    expect(received()).toHaveLength(mailboxMax);
    expect(
      results.filter(({ problem = "" }) => /^This mailbox has received too many mails today/.test(problem)),
    ).toHaveLength(3);
    await dashboard.addMember("Olive", "OWNER");
    const invited = pages.members(await pages.enter("Olive")).inviteMember({
      merchantId: dashboard.merchantId,
      email: "victim@gmail.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    });
    expect(await codeOf(invited)).toBe("rate_limited");
    const { invitations = [] } = await client.members.listMembers({ merchantId: dashboard.merchantId });
    expect(invitations).toEqual([]);
  });

  it("are not counted for an invitation that is refused", async () => {
    const olive = pages.members(await pages.enter("Olive"));
    const invite = {
      merchantId: dashboard.merchantId,
      email: "olive@example.com",
      role: Role.VIEWER,
      liveRole: Role.VIEWER,
    };
    for (let count = 0; count <= mailsOfMerchantMax; count++) {
      expect(await codeOf(olive.inviteMember(invite))).toBe("state_conflict");
    }
  });

  it("ask at most fifty addresses of one merchant a day to confirm", async () => {
    const each = await newScope("Spammer");
    const asked = () => dashboard.mailbox.mails.filter(({ to }) => /stranger/.test(String(to))).length;
    for (let block = 0; block < 6; block++) {
      const addresses = Array.from({ length: 10 }, (_, place) => `stranger${block}${place}@example.com`);
      await client.alerts.setAlertAddresses({ ...each, addresses });
    }
    expect(asked()).toBe(50);
    const { results = [] } = await client.alertSettings.sendTestAlert(each);
    expect(results[0]?.problem).toMatch(/^This merchant has reached today's limit/);
  });

  it("tell apart addresses whose servers may", async () => {
    await client.alerts.setAlertAddresses({ ...scope, addresses: ["a.b@example.com", "ab@example.com"] });
    const counted = await dashboard.accountRows(
      "SELECT calls FROM member_action WHERE action = 'mailbox' AND calls = 1",
    );
    expect(counted.length).toBeGreaterThanOrEqual(2);
  });
});
