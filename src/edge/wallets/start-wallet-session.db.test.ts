/** Opens sheets of Apple Pay at a server with TLS, which knows the merchant by its client certificate as Apple does. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeAll, expect, it } from "vitest";
import { loadWallets, recordWallets } from "../../accounts/merchant-wallets.ts";
import { activateIdentity, createIdentity } from "../../dashboard/wallets/set-up-wallets.ts";
import { TestAuthority } from "../../dev/testing/certificates.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { guardedConnector } from "../../events/egress-connect.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { AppleAuthority } from "../../sandbox/wallets/apple-authority.ts";
import { startEdgeFixture } from "../edge.fixture.ts";
import { AppleSessions } from "./start-wallet-session.ts";

const host = "apple-pay-gateway.apple.com";
const recipient = "merchant.com.example";
const edge = await forFile(startEdgeFixture);
const { core, owner } = edge.core;
const { merchantId } = owner;
const authority = await forFile(async () => new TestAuthority("Test CA"));
const apple = await AppleAuthority.create();

type Call = { readonly path: string | undefined; readonly userId: unknown; readonly body: unknown };
const calls: Call[] = [];
let answer = { status: 200, body: '{"epochTimestamp":1}' };

const pemOf = (der: string) => `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----`;
const issuers = (await apple.save()).slice(0, 2).map(({ certificate }) => pemOf(certificate));
const own = authority.issue("apple", { host });

const server = await forFile(async () => {
  const asked = { requestCert: true, rejectUnauthorized: true, ca: issuers };
  const made = createServer({ cert: own.cert, key: own.key, ...asked }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const userId = (subject as { UID?: string }).UID;
    calls.push({ path: request.url, userId, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
  });
  made.listen(0, "127.0.0.1");
  await once(made, "listening");
  return made;
});
const { port } = server.address() as AddressInfo;

const observed: unknown[] = [];
const observe = (environment: string, end: string, ms: number) => observed.push([environment, end, ms > 0]);
type Guard = Parameters<typeof guardedConnector>[0];

/** Leads Apple's name to this server, whose authority counts as a public one. */
const connectorWith =
  (change: (guard: Guard) => Partial<Guard> = () => ({})): typeof guardedConnector =>
  (guard) => {
    const findAddresses = async () => [{ address: "127.0.0.1", family: 4 }];
    const local = { openings: ["127.0.0.1/32"], findAddresses, tls: { ...guard.tls!, ca: authority.cert } };
    const connect = guardedConnector({ ...guard, ...local, ...change(guard) });
    return (options, callback) => connect({ ...options, port: String(port) }, callback);
  };

const validationUrlOfApple = `https://${host}/paymentservices/startSession`;
const start = (
  connectorOf = connectorWith(),
  { sandboxOrigin, validationUrl = validationUrlOfApple }: { sandboxOrigin?: string; validationUrl?: string } = {},
) =>
  new AppleSessions({ sandboxOrigin, connectorOf, observe }).start(
    { core, name: "live" },
    {
      sessionId: systemRuntime.uuid(),
      merchantId,
      merchantName: "Corner Coffee",
      validationUrl,
      origin: "https://shop.example",
    },
  );

beforeAll(async () => {
  const wallets = { countryCode: "DE", apple: { merchantIdentifier: recipient, endsAt: "2099-01-01T00:00:00.000Z" } };
  const parts = { merchantId, keys: undefined, sealing: core.sealing, now: new Date() };
  await core.database.transaction((tx) => recordWallets(tx, merchantId, { wallets, setUp: {} }));
  const id = await core.database.transaction((tx) => createIdentity(tx, parts, recipient));
  const { signingRequest } = (await loadWallets(core.database, merchantId)).setUp.identities![0]!;
  const certificate = await apple.issueFor(signingRequest, recipient);
  await core.database.transaction((tx) => activateIdentity(tx, parts, { id, certificate }));
});
afterEach(() => {
  answer = { status: 200, body: '{"epochTimestamp":1}' };
  calls.length = 0;
  observed.length = 0;
});

it("proves the merchant's identity, and returns the session as it came", async () => {
  expect(await start()).toBe('{"epochTimestamp":1}');
  const initiative = { initiative: "web", initiativeContext: "shop.example" };
  const body = { merchantIdentifier: recipient, displayName: "Corner Coffee", ...initiative };
  expect(calls).toEqual([{ path: "/paymentservices/paymentSession", userId: recipient, body }]);
  expect(observed).toEqual([["live", "given", true]]);
});

it.each([
  ["a refusal", 400, '{"statusMessage":"no"}'],
  ["no object", 200, "[]"],
  ["a redirect", 302, "{}"],
])("opens no sheet after %s", async (_, status, body) => {
  answer = { status, body };
  await expect(start()).rejects.toMatchObject({ code: "wallet_unavailable" });
  expect(calls.length).toBe(1);
  expect(observed).toEqual([["live", "refused", true]]);
});

it.each<[string, (guard: Guard) => Partial<Guard>]>([
  ["a server whose certificate no known authority has issued", ({ tls }) => ({ tls })],
  ["an address of a private network", () => ({ openings: [] })],
  // So the server does know the merchant by the identity's certificate.
  ["a server that does not know the merchant", () => ({ tls: { ...authority.issue("other"), ca: authority.cert } })],
])("asks %s nothing", async (_, change) => {
  await expect(start(connectorWith(change))).rejects.toMatchObject({ code: "wallet_unavailable" });
  expect([calls, observed]).toEqual([[], [["live", "no_answer", true]]]);
});

it("asks the sandbox nothing in live", async () => {
  const sandboxOrigin = `http://127.0.0.1:${port}`;
  const asked = start(connectorWith(), {
    sandboxOrigin,
    validationUrl: `${sandboxOrigin}/paymentservices/startSession`,
  });
  await expect(asked).rejects.toMatchObject({ code: "invalid_field" });
  expect([calls, observed]).toEqual([[], []]);
});
