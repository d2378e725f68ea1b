/** A pipeline that calls the dashboard's methods as an internal service, by its rights, its merchants and its environment. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DescMethod, getOption, hasOption, type JsonValue } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationService } from "../../gen/dashboard/v1/configuration_pb.ts";
import { service_right as serviceRight } from "../../gen/dashboard/v1/role_pb.ts";
import { SettingsService } from "../../gen/dashboard/v1/settings_pb.ts";
import { WebhookEndpointService } from "../../gen/dashboard/v1/webhook_endpoints_pb.ts";
import { loadPolicy, savePolicy } from "../accounts/approvals.ts";
import type { InternalService } from "../accounts/services-file.ts";
import { codeOf, Pages } from "../dev/testing/dashboard/pages.ts";
import { restOf } from "../dev/testing/dashboard/sample-requests.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { decodeId } from "../platform/ids.ts";
import { signInternalServiceToken } from "../platform/internal-service-token.ts";
import { Secret } from "../platform/secrets.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { dashboardServices } from "./service-list.ts";

const services: InternalService[] = [];
const dashboard = await forFile(() => startDashboardFixture({ live: "besideTest", services }));
const pages = new Pages(() => dashboard);
const { merchantId } = dashboard;
const merchants = [decodeId("mer", merchantId)!];
const [deploy, reader, other] = [0, 1, 2].map(() => generateKeyPairSync("ed25519"));
const entry = (kid: string, publicKey: InternalService["publicKey"], rights: string[], more: object = {}) =>
  ({ kid, environment: "live", publicKey, merchants, rights, ...more }) satisfies object as InternalService;
beforeEach(() => {
  services.push(
    entry("deploy", deploy!.publicKey, ["configuration.read", "configuration.apply"]),
    entry("reader", reader!.publicKey, ["configuration.read"]),
    entry("stranger", other!.publicKey, ["configuration.apply", "configuration.read"], {
      merchants: [decodeId("mer", "mer_01h455vb4pex5vsknk084sn02q")!],
    }),
  );
});
afterEach(() => void services.splice(0));

const keys = { deploy: deploy!, reader: reader!, stranger: other! };
type Named = { merchant?: string | undefined; environment?: "test" | "live" };
const tokenOf = (kid: keyof typeof keys, { merchant = merchantId, environment = "live" }: Named = {}) =>
  new Secret(signInternalServiceToken({ kid, privateKey: keys[kid].privateKey }, { environment, merchant }));
const call = <Answer = unknown>(method: DescMethod, token: Secret, request: object = {}, environment = "LIVE") =>
  pages.call(
    method,
    undefined,
    { merchantId, environment: `ENVIRONMENT_${environment}`, ...request } as JsonValue,
    token,
  ) as Promise<Answer>;

const { getConfiguration, applyConfiguration, planConfiguration } = ConfigurationService.method;
const desired = (seconds: number) => ({
  desired: { checkout: { sessionLifetimeSeconds: seconds, repeatedOrders: "REPEATED_ORDERS_WARN" } },
});

describe("an internal service", () => {
  it("applies a configuration, with its name in the audit trail", async () => {
    await call(applyConfiguration, tokenOf("deploy"), desired(600));
    const [row] = await dashboard.rows("SELECT actor, action FROM audit_entry ORDER BY id DESC LIMIT 1");
    expect(row).toEqual({ actor: "deploy (service)", action: "ApplyConfiguration" });
  });

  it("is counted for each call that is admitted, and for no other", async () => {
    dashboard.serviceCalls.splice(0);
    await call(getConfiguration, tokenOf("reader"));
    await codeOf(call(applyConfiguration, tokenOf("reader"), desired(700)));
    await codeOf(call(getConfiguration, tokenOf("stranger")));
    const counted = dashboard.serviceCalls.map(({ environment, service }) => `${environment} ${service}`);
    expect(counted).toEqual(["live reader"]);
  });

  it("is a pipeline that exports, plans and applies by its private key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "service-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [key, file] = [join(folder, "deploy.pem"), join(folder, "checkout.yaml")];
    writeFileSync(key, keys.deploy.privateKey.export({ type: "pkcs8", format: "pem" }));
    const by = ["--grpc-address", dashboard.address, "--service", "deploy", "--service-key-file", key];
    const exported = await runCommandHere(["export", "--merchant", merchantId, "--environment", "live", ...by]);
    expect(exported).toMatchObject({ code: 0, err: "" });
    writeFileSync(file, exported.out.replace(/sessionLifetimeSeconds: \d+/, "sessionLifetimeSeconds: 1200"));
    expect(await runCommandHere(["plan", file, ...by])).toMatchObject({ code: 2, err: "" });
    expect(await runCommandHere(["apply", file, ...by])).toMatchObject({ code: 0, err: "" });
    const { configuration } = await call<{ configuration: { checkout: object } }>(getConfiguration, tokenOf("reader"));
    expect(configuration.checkout).toMatchObject({ sessionLifetimeSeconds: 1_200 });
    const alone = await runCommandHere(["plan", file, "--grpc-address", dashboard.address, "--service", "deploy"]);
    expect(alone).toMatchObject({ code: 1, err: expect.stringContaining("--service-key-file") });
  });

  it("does only what its rights allow", async () => {
    await call(getConfiguration, tokenOf("reader"));
    await call(planConfiguration, tokenOf("reader"), desired(700));
    expect(await codeOf(call(applyConfiguration, tokenOf("reader"), desired(700)))).toBe("right_not_granted");
    const methods = dashboardServices.flatMap((service) => service.methods);
    const closed = methods.filter((method) => !hasOption(method, serviceRight));
    for (const method of closed) {
      const has = (name: string) => method.input.fields.some((field) => field.name === name);
      const scope = {
        ...(has("merchant_id") && { merchantId }),
        ...(has("environment") && { environment: "ENVIRONMENT_LIVE" }),
      };
      const refused = pages.call(method, undefined, { ...restOf(method), ...scope } as JsonValue, tokenOf("deploy"));
      expect(await codeOf(refused), method.name).toBe("right_not_granted");
    }
    const rights = new Set(methods.map((method) => getOption(method, serviceRight)));
    expect([...rights].sort()).toEqual(["", "configuration.apply", "configuration.read"]);
  });

  it("reaches only the merchants and the environment of its entry and its token", async () => {
    expect(await codeOf(call(getConfiguration, tokenOf("stranger")))).toBe("not_found");
    expect(await codeOf(call(getConfiguration, tokenOf("deploy"), {}, "TEST"))).toBe("not_found");
    expect(await codeOf(call(getConfiguration, tokenOf("deploy", { environment: "test" }), {}, "TEST"))).toBe(
      "invalid_key",
    );
    const another = tokenOf("deploy", { merchant: "mer_01h455vb4pex5vsknk084sn02q" });
    expect(await codeOf(call(getConfiguration, another))).toBe("not_found");
  });

  it("is not admitted without an entry, or by another key", async () => {
    const forged = signInternalServiceToken(
      { kid: "deploy", privateKey: keys.reader.privateKey },
      { environment: "live", merchant: merchantId },
    );
    expect(await codeOf(call(getConfiguration, new Secret(forged)))).toBe("invalid_key");
    services.splice(0);
    expect(await codeOf(call(getConfiguration, tokenOf("deploy")))).toBe("invalid_key");
  });

  it("is refused where its entry goes while the call runs", async () => {
    const { endpoints } = dashboard.parts.environments.live!;
    const { requirePublic } = endpoints.egress;
    endpoints.egress.requirePublic = async () => void services.splice(0);
    const webhooks = { webhooks: { endpoints: [{ url: "https://shop.example.com/hook" }] } };
    expect(await codeOf(call(applyConfiguration, tokenOf("deploy"), { desired: webhooks }))).toBe("right_not_granted");
    endpoints.egress.requirePublic = requirePublic;
  });

  it("needs no second person: the review of its file is one", async () => {
    await dashboard.accounts.transaction(async (tx) =>
      savePolicy(tx, merchants[0]!, { ...(await loadPolicy(tx, merchants[0]!)), endpoints: true }),
    );
    const webhooks = { endpoints: [{ url: "https://shop.example.com/hook" }] };
    await call(applyConfiguration, tokenOf("deploy"), { desired: { webhooks }, allowRemovals: true });
    const operator = await dashboard.hireOperator("ops");
    const listed = await call<{ endpoints: object[] }>(WebhookEndpointService.method.listWebhookEndpoints, operator);
    expect(listed.endpoints).toHaveLength(1);
    expect(dashboard.mailbox.mails).toEqual([]);
    await call(SettingsService.method.getSettings, operator);
  });
});
