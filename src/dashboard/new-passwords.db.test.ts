import { describe, expect, it } from "vitest";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const pages = new Pages(() => dashboard);
const signIns = (cookie?: string) => pages.signIns(cookie);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const operator = await dashboard.hireOperator("ada");
for (const name of ["Olive", "Rosalind", "Florence"]) await dashboard.addMember(name, "OWNER");

const offerLink = async (email: string) => {
  const { link } = await pages.members(undefined, operator).resetMemberPassword({ email });
  return link.split("#")[1]!;
};

// Each chooses a password for the member with this name.
const ways: Record<string, () => Promise<{ name: string; choose: (password: string) => Promise<unknown> }>> = {
  "a change": async () => {
    const cookie = await pages.enter("Olive");
    return { name: "olive", choose: (newPassword) => signIns(cookie).changePassword({ newPassword }) };
  },
  "a link of an operator": async () => {
    const token = await offerLink("rosalind@example.com");
    return { name: "rosalind", choose: (newPassword) => signIns().resetPassword({ token, newPassword }) };
  },
  "an invitation": async () => {
    const { merchantId } = dashboard;
    const inviter = pages.members(await pages.enter("Florence"));
    await inviter.inviteMember({ merchantId, email: "marianne@example.com", role: Role.VIEWER, liveRole: Role.VIEWER });
    const token = pages.tokenMailedTo("marianne@example.com");
    const choose = (password: string) => signIns().acceptInvitation({ token, name: "Marianne Franklin", password });
    return { name: "marianne", choose };
  },
};

describe.each(Object.entries(ways))("a password that is chosen by %s", (_, begin) => {
  it("is refused if it is common, or the own name or address", async () => {
    const { name, choose } = await begin();
    for (const password of ["123456789012", "password1234", `${name}@example.com`, `${name.toUpperCase()}-2026!`]) {
      expect(await codeOf(choose(password)), password).toBe("invalid_field");
    }
    await choose("another good horse");
  });
});

describe("a new password", () => {
  it("ends an open link for a new password", async () => {
    await dashboard.addMember("Hedwig", "VIEWER");
    const token = await offerLink("hedwig@example.com");
    await signIns().getPasswordReset({ token });
    await signIns(await pages.enter("Hedwig")).changePassword({ newPassword: "another good horse" });
    expect(await codeOf(signIns().resetPassword({ token, newPassword: "one more good horse" }))).toBe("not_found");
    await pages.enter("Hedwig", { password: "another good horse" });
  });
});
