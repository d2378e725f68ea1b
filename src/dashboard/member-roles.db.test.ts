import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Access, access, fresh, Role, role } from "../../gen/dashboard/v1/role_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { restOf } from "../dev/testing/dashboard/sample-requests.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { requireRole } from "./guard.ts";
import { includesRole } from "./roles/role-rank.ts";
import { dashboardServices, signInServices } from "./service-list.ts";

const pages = new Pages(() => dashboard);
const dashboard = await forFile(() => startDashboardFixture({ members: true }));
const cookies = {
  owner: await pages.join("Olive", "OWNER"),
  developer: await pages.join("Dora", "DEVELOPER"),
  viewer: await pages.join("Viv", "VIEWER"),
  expired: await pages.enter("Olive"),
  stale: await pages.enterStale("Olive"),
};
const foreign = { id: systemRuntime.uuid(), name: "Another" };
await createMerchant(dashboard.accounts, foreign);
const foreignMerchantId = encodeId("mer", foreign.id);
await pages.setBack("expires_at", "24 hours", cookies.expired);

const methods = [...dashboardServices, ...signInServices].flatMap((service) => service.methods);
const named = methods.map((method): [string, DescMethod] => [`${method.parent.name}.${method.name}`, method]);
const guarded = named.filter(([, method]) => getOption(method, access) !== Access.ANYBODY);
const needing = (needed: (method: DescMethod) => boolean) =>
  named.filter(([, method]) => hasOption(method, role) && needed(method));

function requestOf(method: DescMethod, merchantId: string) {
  const names = method.input.fields.map(({ name }) => name);
  return {
    ...restOf(method),
    ...(names.includes("merchant_id") && { merchantId }),
    ...(names.includes("environment") && { environment: "ENVIRONMENT_TEST" }),
  };
}
const callAs = (cookie: string | undefined, method: DescMethod, merchantId = dashboard.merchantId) =>
  pages.call(method, cookie, requestOf(method, merchantId));

describe("every rpc", () => {
  it.each(named)("%s declares either a role or an access", (_, method) => {
    const declared = [hasOption(method, role), hasOption(method, access)];
    expect(declared.filter(Boolean)).toHaveLength(1);
  });

  it.each(guarded)("%s is refused without a current sign-in", async (_, method) => {
    for (const cookie of [undefined, "__Host-switchyard_sign_in=nonsense", cookies.expired]) {
      expect(await codeOf(callAs(cookie, method))).toBe("sign_in_required");
    }
  });

  it.each(needing((method) => method.input.fields.some(({ name }) => name === "merchant_id")))(
    "%s returns not_found to another merchant's owner",
    async (_, method) => {
      expect(await codeOf(callAs(cookies.owner, method, foreignMerchantId))).toBe("not_found");
    },
  );

  it.each(needing((method) => !includesRole(Role.VIEWER, getOption(method, role))))(
    "%s is refused to a viewer",
    async (_, method) => {
      expect(await codeOf(callAs(cookies.viewer, method))).toBe("role_not_allowed");
    },
  );

  it.each(needing((method) => !includesRole(Role.DEVELOPER, getOption(method, role))))(
    "%s is refused to a developer",
    async (_, method) => {
      expect(await codeOf(callAs(cookies.developer, method))).toBe("role_not_allowed");
    },
  );

  it.each(needing((method) => !includesRole(Role.OWNER, getOption(method, role))))(
    "%s is refused to an owner",
    async (_, method) => {
      expect(await codeOf(callAs(cookies.owner, method))).toBe("role_not_allowed");
    },
  );

  it.each(named.filter(([, method]) => getOption(method, fresh)))("%s requires a fresh proof", async (_, method) => {
    const code = await codeOf(callAs(cookies.stale, method));
    expect(code).toBe("fresh_sign_in_required");
  });
});

const methodNamed = (name: string) => methods.find((method) => method.name === name)!;

describe("requireRole()", () => {
  it("refuses every caller where a method declares no role", () => {
    expect(() => requireRole(PaymentSessionService.method.getPaymentSession, Role.OPERATOR)).toThrow("may not do this");
  });

  it("grants a role the rights of lesser roles, and no more", () => {
    const regenerate = methodNamed("RegenerateApiKey");
    expect(() => requireRole(regenerate, Role.DEVELOPER)).toThrow("may not do this");
    expect(() => requireRole(regenerate, Role.OWNER)).not.toThrow();
    expect(() => requireRole(methodNamed("ListApiKeys"), Role.OWNER)).not.toThrow();
    expect(() => requireRole(methodNamed("CreateMerchant"), Role.OWNER)).toThrow("may not do this");
  });
});
