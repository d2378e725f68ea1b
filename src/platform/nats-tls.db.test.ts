import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type LimitedNats, startLimitedNats } from "../events/testing/limited-nats.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { TcpGate } from "../testing/tcp-gate.ts";
import { enter, type NatsLink, type NatsTls, openNats } from "./nats.ts";

const authority = new TestAuthority("Ours");
const laterAuthority = new TestAuthority("Ours, a year later");
const servers: LimitedNats[] = [];

/** Asks clients for a certificate of the authority. */
async function startTlsNats(by: TestAuthority): Promise<{ host: string; port: number }> {
  const { certFile, keyFile } = by.issue("server");
  const files = `cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${by.certFile}"`;
  const server = await startLimitedNats(`tls: {${files}, verify: true}`, { TEST: "" });
  servers.push(server);
  return { host: "127.0.0.1", port: Number(server.login("TEST").servers.split(":")[1]) };
}

function filesOf(by: TestAuthority): Required<NatsTls> {
  const { certFile, keyFile } = by.issue("client");
  return { caFile: by.certFile, certFile, keyFile };
}

let plain: Server;
const toldPlain: Buffer[] = [];
let gate: TcpGate;
let link: NatsLink | undefined;
beforeAll(async () => {
  gate = await TcpGate.open(await startTlsNats(authority));
  plain = createServer((socket) => {
    socket.on("data", (bytes) => toldPlain.push(bytes)).on("error", () => {});
    socket.write('INFO {"server_id":"P","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n');
  });
  plain.listen(0, "127.0.0.1");
  await once(plain, "listening");
});
afterAll(async () => {
  await link?.close();
  await gate.close();
  plain.close();
  await Promise.all(servers.map((server) => server.stop()));
  authority.close();
  laterAuthority.close();
});

describe("a connection to NATS over TLS", () => {
  it("is refused without a certificate where one is asked for, and by a server that somebody else has certified", async () => {
    const login = { servers: `localhost:${gate.port}`, user: "TEST", pass: "secret" };
    const { caFile } = filesOf(authority);
    await expect(enter({ ...login, tls: { caFile } }, { reconnect: false })).rejects.toThrow();
    const strange = filesOf(laterAuthority);
    await expect(enter({ ...login, tls: strange }, { reconnect: false })).rejects.toThrow(/self.signed|unable to/);
    await (await enter({ ...login, tls: filesOf(authority) }, { reconnect: false })).close();
  });

  it("tells a server without TLS nothing, and the log why; renewed files count from the next connection on", async () => {
    const log = { error: vi.fn() };
    const tls = filesOf(authority);
    link = openNats({
      login: { servers: `localhost:${gate.port}`, user: "TEST", pass: "secret", tls },
      name: "t",
      log,
    });
    await link.connected;
    expect(log.error).not.toHaveBeenCalled();

    gate.leadTo({ host: "127.0.0.1", port: (plain.address() as AddressInfo).port });
    await expect
      .poll(() => log.error.mock.calls.map(([{ err }]) => err.message).join())
      .toContain("NATS offers no TLS");
    expect(() => link?.connection()).toThrow("no connection");
    expect(Buffer.concat(toldPlain).toString()).toBe("");

    const renewed = filesOf(laterAuthority);
    for (const name of ["caFile", "certFile", "keyFile"] as const) copyFileSync(renewed[name]!, tls[name]!);
    gate.leadTo(await startTlsNats(laterAuthority));
    await expect.poll(() => link?.connection().flush(), { timeout: 5_000 }).toBeUndefined();
  });
});
