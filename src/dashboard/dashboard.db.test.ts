import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  create,
  type DescField,
  type DescMethod,
  type DescService,
  fromJson,
  getOption,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { beforeEach, describe, expect, it } from "vitest";
import { Role, role } from "../../gen/dashboard/v1/role_pb.ts";
import type { WebhookDeliveryService } from "../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { RpcError } from "../client/rpc-error.ts";
import { answeredRequests } from "../dev/testing/dashboard/answered-requests.ts";
import { restOf } from "../dev/testing/dashboard/sample-requests.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { type CallOptions, createGrpcClient } from "../platform/grpc-client.ts";
import { Secret } from "../platform/secrets.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";
import { dashboardServices, signInServices } from "./service-list.ts";

/** Finds every service that buf generated from proto/dashboard/v1, independent of any list of ours. */
async function generatedServices(): Promise<DescService[]> {
  const folder = join(import.meta.dirname, "..", "..", "gen", "dashboard", "v1");
  const modules = await Promise.all(readdirSync(folder).map((file) => import(join(folder, file))));
  return modules.flatMap((module) =>
    Object.values<DescService | { kind?: string }>(module).filter((value) => value?.kind === "service"),
  ) as DescService[];
}

const services = (await generatedServices()).filter((service) => !signInServices.includes(service));
const methods = services.flatMap((service) => service.methods);
const named = methods.map((method): [string, DescMethod] => [`${method.parent.name}.${method.name}`, method]);

type AuditRow = {
  id: string;
  actor: string;
  action: string;
  subject: string;
  requestId: string;
  before: unknown;
  after: unknown;
};

const [dashboard, receiver] = await Promise.all([forFile(startDashboardFixture), forFile(() => Receiver.start())]);
const operator = await dashboard.hireOperator("ada");
const { scope } = dashboard;

/** Calls any method with JSON; rejects with RpcError. */
async function call(method: DescMethod, request: JsonValue, token?: Secret): Promise<Record<string, unknown>> {
  const client = createGrpcClient(method.parent, dashboard.address);
  const calls = client as unknown as Record<string, (message: object, options: CallOptions) => Promise<object>>;
  const metadata = token ? { authorization: `Bearer ${token.expose()}` } : {};
  try {
    const message = fromJson(method.input, request);
    return { ...(await calls[method.localName]!(message, { timeoutMs: 15_000, metadata })) };
  } catch (error) {
    throw new RpcError(error as ConstructorParameters<typeof RpcError>[0]);
  } finally {
    client.close();
  }
}

const methodNamed = (name: string) => methods.find((method) => method.name === name)!;
/** Returns the audit rows of the environment and of what concerns both. */
async function auditRows(): Promise<AuditRow[]> {
  const text = `SELECT *, request_id AS "requestId" FROM audit_entry ORDER BY id`;
  const rows = await Promise.all([dashboard.rows<AuditRow>(text), dashboard.accountRows<AuditRow>(text)]);
  return rows.flat().sort((left, right) => (left.id < right.id ? -1 : 1));
}
const lastRow = async () => (await auditRows()).at(-1);

/** Calls every method with a request that it accepts, in an order in which each finds the data it needs. */
async function callEach(rpcContext: (method: DescMethod, answer: Record<string, unknown>) => Promise<void>) {
  const ids = { connectionId: "", endpointId: "", invitationId: "" };
  const requests = await answeredRequests({
    dashboard,
    scope,
    ids,
    receiverUrl: receiver.url,
    call: (name, request) => call(methodNamed(name), request as JsonValue, operator),
  });
  expect(Object.keys(requests).sort()).toEqual(methods.map(({ name }) => name).sort());
  for (const [name, request] of Object.entries(requests)) {
    const method = methodNamed(name);
    const answer = await call(method, (await request()) as JsonValue, operator);
    Object.assign(ids, answer.connection, answer.endpoint, answer.invitation);
    await rpcContext(method, answer);
  }
}

describe("the dashboard's rpcs", () => {
  it("are all served", () => {
    expect([...dashboardServices].sort()).toEqual([...services].sort());
    expect(methods.length).toBeGreaterThan(10);
  });

  it.each(named)("%s declares the role it needs", (_name, method) => {
    expect(getOption(method, role)).not.toBe(Role.UNSPECIFIED);
  });

  it.each(named)(
    "%s is refused without a token, with a merchant's secret key and with unknown tokens",
    async (_, method) => {
      const before = await auditRows();
      const refused = [
        undefined,
        dashboard.secretKey,
        new Secret("switchyard_operator_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        new Secret(operator.expose().slice(0, -1)),
        new Secret(operator.expose().replace("switchyard", "another")),
      ];
      for (const token of refused) {
        await expect(call(method, {}, token)).rejects.toMatchObject({ code: "invalid_key" });
      }
      expect(await auditRows()).toEqual(before);
    },
  );

  it("refuse a token from the moment that it is revoked", async () => {
    const token = await dashboard.hireOperator("bob");
    await call(methodNamed("ListMerchants"), {}, token);
    await dashboard.dismissOperator("bob");
    await expect(call(methodNamed("ListMerchants"), {}, token)).rejects.toMatchObject({ code: "invalid_key" });
  });

  it.each(named.filter(([, { input }]) => input.fields.some(({ name }) => name === "merchant_id")))(
    "%s returns not_found for an unknown merchant and for an environment that is not served",
    async (_name, method) => {
      const isScoped = method.input.fields.some(({ name }) => name === "environment");
      const within = (environment: string) => (isScoped ? { environment } : {});
      const unknown = { merchantId: "mer_01h455vb4pex5vsknk084sn02q", ...within("ENVIRONMENT_TEST") };
      const rest = restOf(method);
      await expect(call(method, { ...rest, ...unknown }, operator)).rejects.toMatchObject({ code: "not_found" });
      if (isScoped) {
        const elsewhere = { ...rest, ...scope, environment: "ENVIRONMENT_LIVE" };
        await expect(call(method, elsewhere, operator)).rejects.toMatchObject({ code: "not_found" });
      }
      await expect(call(method, rest, operator)).rejects.toMatchObject({ code: "missing_field" });
    },
  );

  it("refuse text that PostgreSQL cannot store, by the names of its fields", async () => {
    for (const method of methods) {
      const isText = (field: DescField) => field.scalar === ScalarType.STRING && field.fieldKind !== "map";
      // A message has one field of a oneof.
      const texts = method.input.fields.filter(
        (field) => isText(field) && (field.oneof === undefined || field.oneof.fields.find(isText) === field),
      );
      const params = texts.map(({ localName, fieldKind }) => `${localName}${fieldKind === "list" ? "[0]" : ""}`);
      const bad = texts.map(({ localName, fieldKind }) => [localName, fieldKind === "list" ? ["a\0"] : "a\0"]);
      if (texts.length === 0) continue;
      const refusal = await call(method, { ...restOf(method), ...Object.fromEntries(bad) }, operator).catch(
        (error) => error,
      );
      expect(
        refusal.problems?.map(({ param }: { param: string }) => param),
        method.name,
      ).toEqual(expect.arrayContaining(params));
    }
    const filter = { orderRef: "a\0" };
    await expect(call(methodNamed("ListPayments"), { ...scope, filter }, operator)).rejects.toMatchObject({
      code: "invalid_field",
      param: "filter.orderRef",
    });
  });

  it("refuse a time beyond every calendar, which only the binary form can carry", async () => {
    const { parent, input } = methodNamed("RecoverWebhookDeliveries");
    const since = create(TimestampSchema, { seconds: 10n ** 15n });
    const message = Object.assign(fromJson(input, { ...restOf(methodNamed("RecoverWebhookDeliveries")), ...scope }), {
      since,
    });
    const client = createGrpcClient(parent as typeof WebhookDeliveryService, dashboard.address);
    const metadata = { authorization: `Bearer ${operator.expose()}` };
    const refusal = await client
      .recoverWebhookDeliveries(message as never, { timeoutMs: 15_000, metadata })
      .catch((error) => error);
    client.close();
    expect(new RpcError(refusal)).toMatchObject({ code: "invalid_parameter", param: "since" });
  });

  it("write one row each with actor, action, subject and request, and without secrets", async () => {
    await callEach(async (method, answer) => {
      expect(await lastRow(), method.name).toMatchObject({
        actor: expect.stringMatching(/^ada \(op_\w{26}\)$/),
        action: method.name,
        subject: expect.stringMatching(
          /^((mer|key|gc|we|wi|ntc|mbr|inv|att|ps|ref|dsp|blk|pm|agr)_\w{26}|installation)/,
        ),
        requestId: expect.stringMatching(/^req_\w{26}$/),
      });
      const token = String(answer.link).split("#")[1];
      const secrets = [answer.key, answer.signingSecret, token, "sandbox_test_every-rpc"].filter(Boolean) as string[];
      const kept = JSON.stringify(await auditRows());
      for (const secret of secrets) expect(kept).not.toContain(secret);
      expect(kept).not.toMatch(/_(sk|rk|pk)_[0-9A-Za-z]{38}|whsec_[0-9A-Za-z+/]{40}/);
    });
    const rows = await auditRows();
    expect(
      rows.filter(({ action }) => action === "SetCheckoutOrigins").map(({ before, after }) => [before, after]),
    ).toEqual([[{ checkoutOrigins: [] }, { checkoutOrigins: ["https://shop.example.com"] }]]);
  });
});

describe("changes that are refused", () => {
  let rowsBefore: AuditRow[];
  const connection = { gateway: "SANDBOX_A", account: "twice", credentials: { apiKey: "sandbox_test_twice" } };
  const add = (change: object = {}) =>
    call(methodNamed("AddGatewayConnection"), { ...scope, ...connection, ...change } as JsonValue, operator);
  beforeEach(async () => {
    rowsBefore = await auditRows();
  });

  it("leave no row: an account that is connected already", async () => {
    await add();
    await expect(add()).rejects.toMatchObject({ code: "invalid_field", message: "This account is already connected." });
    expect(await auditRows()).toHaveLength(rowsBefore.length + 1);
  });

  it("leave no row: credentials that are missing, malformed or unknown, each reported, none repeated", async () => {
    const credentials = { apiKey: "not a key", password: "hunter2" };
    const refusal = await add({ account: "other", credentials }).catch((error: RpcError) => error);
    expect(refusal).toMatchObject({
      problems: [{ param: "credentials.apiKey" }, { param: "credentials.password" }],
    });
    expect(JSON.stringify(refusal)).not.toContain("hunter2");
    await expect(add({ account: "other", credentials: {} })).rejects.toMatchObject({ code: "missing_field" });
    await expect(add({ gateway: "NOBODY" })).rejects.toMatchObject({ code: "invalid_field" });
    expect(await auditRows()).toEqual(rowsBefore);
  });

  it("leave no row: a rule over a connection that was never verified, or does not exist", async () => {
    const added = await add({ account: "unverified" });
    const { connectionId } = added.connection as { connectionId: string };
    const set = (connectionIds: string[]) => call(methodNamed("SetRoutingRule"), { ...scope, connectionIds }, operator);
    await expect(set([connectionId])).rejects.toThrow("is not verified yet");
    await expect(set(["gc_01h455vb4pex5vsknk084sn02q"])).rejects.toThrow("does not exist");
    expect(await auditRows()).toHaveLength(rowsBefore.length + 1);
  });

  it("leave no row: an origin with a path", async () => {
    const origins = { ...scope, checkoutOrigins: ["https://shop.example.com/cart"] };
    await expect(call(methodNamed("SetCheckoutOrigins"), origins, operator)).rejects.toThrow("An origin is a scheme");
    expect(await auditRows()).toEqual(rowsBefore);
  });
});

describe("concurrent changes", () => {
  it("are serialized: every rule gets a version, and an account is connected once", async () => {
    const connect = (account: string) =>
      call(
        methodNamed("AddGatewayConnection"),
        { ...scope, gateway: "SANDBOX_A", account, credentials: { apiKey: `sandbox_test_${account}` } },
        operator,
      );
    const [added, ...refused] = (await Promise.allSettled([1, 2, 3, 4].map(() => connect("at-once")))).sort((left) =>
      left.status === "fulfilled" ? -1 : 1,
    );
    expect(refused.map((each) => each.status === "rejected" && each.reason.code)).toEqual(
      Array(3).fill("invalid_field"),
    );
    const { connectionId } = (added as PromiseFulfilledResult<{ connection: { connectionId: string } }>).value
      .connection;
    await call(methodNamed("VerifyGatewayConnection"), { ...scope, connectionId }, operator);
    const set = () => call(methodNamed("SetRoutingRule"), { ...scope, connectionIds: [connectionId] }, operator);
    const rules = await Promise.all([1, 2, 3, 4, 5, 6].map(set));
    const versions = rules.map(({ routingRule }) => (routingRule as { version: number }).version);
    expect(new Set(versions).size).toBe(6);
    const kind = { ...scope, kind: "SECRET" };
    await Promise.all([1, 2, 3, 4].map(() => call(methodNamed("RegenerateApiKey"), kind, operator)));
  });
});
