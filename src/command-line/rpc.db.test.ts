import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, expect, it } from "vitest";
import { startDashboardFixture } from "../dashboard/dashboard.fixture.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";

const folder = mkdtempSync(join(tmpdir(), "rpc-"));
afterAll(() => rmSync(folder, { recursive: true }));
const dashboard = await forFile(startDashboardFixture);
const env = { SWITCHYARD_OPERATOR_TOKEN: (await dashboard.hireOperator("ada")).expose() };
const at = ["--grpc-address", dashboard.address, "--merchant", dashboard.merchantId];
const run = (...parts: string[]) => runCommandHere(["rpc", ...parts, ...at], { env });

const add = "GatewayConnectionService/AddGatewayConnection";

function fileOf(request: object): string {
  const file = join(folder, "request.json");
  writeFileSync(file, JSON.stringify(request));
  return `@${file}`;
}

it("lists services, methods, and the fields of a method with their rules", async () => {
  expect((await run()).out).toMatch(/^WebhookEndpointService: AddWebhookEndpoint, /m);
  expect((await run("WebhookEndpointService")).out).toMatch(/\/AddWebhookEndpoint +developer +url, eventTypes\n/);
  const { out } = await run(add, "--fields");
  expect(out).toMatch(/ account +string +required; minLen 1; maxLen 100\n/);
  expect(out).toMatch(/ credentials +object +secret: only in @FILE or on standard input; /);
  expect(out).toMatch(/ environment +ENVIRONMENT_TEST \| ENVIRONMENT_LIVE +filled in from the options\n/);
  expect(out).toContain(`npx switchyard rpc ${add} '{"gateway":"…","account":"…"}'`);
  const { services } = JSON.parse((await run("--json")).out);
  expect(services).toContainEqual({ name: "LedgerService", methods: ["GetLedgerTotals", "ExportLedger"] });
});

it("fills in merchant and environment, and prints the answer or one field of it", async () => {
  const request = fileOf({ gateway: "SANDBOX_A", account: "shop", credentials: { apiKey: "sandbox_test_shop" } });
  const added = await run(add, request, "--print", "connection.connectionId");
  expect(added).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^gc_\w{26}\n$/) });
  const { out } = await run("dashboard.v1.gatewayconnectionservice/listGatewayConnections");
  expect(JSON.parse(out)).toMatchObject({ connections: [{ connectionId: added.out.trim(), account: "shop" }] });
});

it("reads every page, each on one line", async () => {
  for (let one = 0; one < 3; one++) await dashboard.emitEvent();
  const request = JSON.stringify({ pageSize: 2 });
  const { out } = await run("PaymentService/ListPayments", request, "--all-pages");
  const pages = out.trim().split("\n");
  expect(pages.map((page) => JSON.parse(page).payments.length)).toEqual([2, 1]);
  expect(await run("SettingsService/GetSettings", "--all-pages")).toMatchObject({
    code: 1,
    err: expect.stringContaining("has no pages"),
  });
});

it("takes no secret from an argument, and repeats none in an error", async () => {
  const secret = { gateway: "SANDBOX_A", account: "shop", credentials: "sk_secret" };
  const inArgument = await run(add, JSON.stringify(secret));
  expect(inArgument).toMatchObject({ code: 1, err: expect.stringMatching(/^credentials is a secret, .*@FILE/) });
  const chat = await run("AlertService/SetAlertChat", '{"url": "https://hooks.example.com/sk_secret"}');
  expect(chat).toMatchObject({ code: 1, err: expect.stringMatching(/^url is a secret/) });
  const misfit = await run(add, fileOf(secret));
  expect(misfit).toMatchObject({ code: 1, err: expect.stringMatching(/^Correct credentials: /) });
  const file = join(folder, "broken.json");
  writeFileSync(file, '{"credentials": sk_secret}');
  const broken = await run(add, `@${file}`);
  expect(broken).toMatchObject({ code: 1, err: "The request is not valid JSON.\n" });
  for (const { out, err } of [inArgument, chat, misfit]) expect(out + err).not.toContain("sk_secret");
});

it.each([
  ["an unknown service", ["Payments/List"], "There is no service Payments: "],
  ["an unknown method", ["PaymentService/Pay"], "PaymentService has no method pay: "],
  ["an unknown field", ["PaymentService/ListPayments", '{"size": 1}'], "size is no field of ListPaymentsRequest: "],
  ["a value of another type", ["PaymentService/ListPayments", '{"pageSize": "x"}'], "Correct pageSize: "],
  ["a request that is a list", ["PaymentService/ListPayments", "[]"], "The request must be one JSON object"],
  ["a value that breaks a rule", ["PaymentService/ListPayments", '{"pageSize": 101}'], "Correct pageSize: it must be "],
  ["a missing field", ["PaymentService/GetPayment"], "Correct sessionId: it is required. (missing_field"],
  [
    "a field that the answer has not",
    ["SettingsService/GetSettings", "--print", "tea"],
    "The answer has no tea: settings",
  ],
])("refuses %s, and names it", async (_what, parts, start) => {
  const { code, out, err } = await run(...parts);
  expect({ code, out, start: err.slice(0, start.length) }).toEqual({ code: 1, out: "", start });
});

it("calls a port with TLS, also one that requires a certificate of its clients", async () => {
  const authority = new TestAuthority("ours");
  const [server, client] = [authority.issue("server"), authority.issue("operators")];
  const [, port] = dashboard.address.split(":");
  const own = { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, ALPNProtocols: ["h2"] };
  const callers: string[] = [];
  const tls = createTlsServer(own, (socket) => {
    callers.push(socket.getPeerCertificate().subject.CN as string);
    const inner = connect(Number(port), "127.0.0.1");
    socket.pipe(inner).pipe(socket);
    for (const end of [socket, inner]) end.on("error", () => end.destroy());
  });
  await new Promise<void>((resolve) => tls.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${(tls.address() as AddressInfo).port}`;
  const call = (...options: string[]) =>
    runCommandHere(["rpc", "PaymentService/ListPayments", "{}", ...at, "--grpc-address", address, ...options], { env });
  const [trust, certificate] = [
    ["--tls-ca-file", authority.certFile],
    ["--tls-cert-file", client.certFile],
  ];
  try {
    expect(await call(...trust, ...certificate, "--tls-key-file", client.keyFile)).toMatchObject({ code: 0, err: "" });
    expect(callers).toEqual(["operators"]);
    expect((await call(...trust, ...certificate)).err).toBe("Give --tls-cert-file and --tls-key-file together.\n");
    const withoutTrust = await call(...certificate, "--tls-key-file", client.keyFile);
    expect(withoutTrust.err).toMatch(/^Give --tls-ca-file with --tls-cert-file/);
  } finally {
    tls.close();
    authority.close();
  }
});
