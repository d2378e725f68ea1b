import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { sweepSignInsOnce } from "../accounts/sweep-sign-ins.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { countedAs } from "./guard.ts";
import { dashboardServices, signInServices } from "./service-list.ts";

const callsMax = { post: 20, mail: 30, password: 30 };

const pages = new Pages(() => dashboard);
const [dashboard, receiver] = await Promise.all([
  forFile(() => startDashboardFixture({ members: true })),
  forFile(() => Receiver.start()),
]);
const { scope } = dashboard;
await dashboard.addMember("Olive", "OWNER");
await dashboard.addMember("Dora", "DEVELOPER");

const methods = [...dashboardServices, ...signInServices].flatMap((service) => service.methods);
const call = (name: string, cookie: string, request: object = {}) =>
  pages.call(methods.find((method) => method.name === name)!, cookie, { ...request } as JsonValue);
const codesOf = (calls: readonly Promise<unknown>[]) =>
  Promise.all(calls.map((each) => each.then(() => "ok").catch((error: unknown) => codeOf(Promise.reject(error)))));

describe("the limits of a member's actions", () => {
  it("name only rpcs that exist", () => {
    const names = methods.map(({ name }) => name);
    expect(Object.keys(countedAs).filter((name) => !names.includes(name))).toEqual([]);
  });

  it("bound posts to an endpoint per minute across concurrent calls, without delaying other members", async () => {
    const [olive, dora] = [await pages.enter("Olive"), await pages.enter("Dora")];
    const added = (await call("AddWebhookEndpoint", dora, { ...scope, url: receiver.url })) as {
      endpoint: { endpointId: string };
    };
    const request = { ...scope, endpointId: added.endpoint.endpointId };
    const codes = await codesOf(
      Array.from({ length: callsMax.post + 10 }, () => call("VerifyWebhookEndpoint", dora, request)),
    );
    expect(codes.filter((code) => code === "ok")).toHaveLength(callsMax.post);
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(10);
    expect(receiver.requests).toHaveLength(callsMax.post);
    await expect(call("VerifyWebhookEndpoint", dora, request)).rejects.toThrow(
      /You have done this too often. Try again in \d+ seconds/,
    );
    // All posts share one count, and nothing else waits for it.
    const replay = { ...request, eventId: "evt_01h455vb4pex5vsknk084sn02q" };
    expect(await codeOf(call("ReplayWebhookDelivery", dora, replay))).toBe("rate_limited");
    await call("PauseWebhookEndpoint", dora, request);
    await call("VerifyWebhookEndpoint", olive, request);
    await dashboard.accountRows("UPDATE member_action SET window_ends = clock_timestamp()");
    await call("VerifyWebhookEndpoint", dora, request);
  });

  it("bound changes of mail addresses per hour", async () => {
    const olive = await pages.enter("Olive");
    const set = () => call("SetAlertAddresses", olive, { ...scope, addresses: ["ops@example.com"] });
    const codes = await codesOf(Array.from({ length: callsMax.mail + 5 }, set));
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(5);
    await dashboard.accountRows("DELETE FROM member_action");
  });

  it("bound invitations to one address per day", async () => {
    const olive = await pages.enter("Olive");
    const invite = (email: string) =>
      call("InviteMember", olive, {
        merchantId: scope.merchantId,
        email,
        role: "ROLE_VIEWER",
        liveRole: "ROLE_VIEWER",
      });
    for (let sent = 0; sent < 5; sent++) await invite("nina@example.com");
    expect(await codeOf(invite("Nina@example.com"))).toBe("rate_limited");
    await invite("nils@example.com");
  });

  it("count by sign-in for the own account, so that a stolen one cannot exhaust another's limit", async () => {
    const [stolen, own] = [await pages.enter("Dora"), await pages.enter("Dora")];
    const change = (cookie: string) => call("ConfirmTotp", cookie, { code: "000000" });
    for (let tries = 0; tries < callsMax.password; tries++) await codeOf(change(stolen));
    expect(await codeOf(change(stolen))).toBe("rate_limited");
    expect(await codeOf(change(own))).toBe("invalid_sign_in");
    // Calls that lock out a thief are never counted.
    await call("SignOut", stolen);
  });

  it("are forgotten after their period", async () => {
    const text = "SELECT count(*)::integer AS count FROM member_action";
    await dashboard.accountRows("UPDATE member_action SET window_ends = clock_timestamp()");
    expect(await dashboard.accountRows(text)).not.toEqual([{ count: 0 }]);
    await sweepSignInsOnce(dashboard.accounts);
    expect(await dashboard.accountRows(text)).toEqual([{ count: 0 }]);
  });
});
