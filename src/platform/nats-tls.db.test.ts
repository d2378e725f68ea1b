import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, it, vi } from "vitest";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { type LimitedNats, startLimitedNats } from "../dev/testing/events/limited-nats.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { TcpGate } from "../dev/testing/tcp-gate.ts";
import { enter, type NatsLink, type NatsLogin, openNats } from "./nats.ts";

const authority = new TestAuthority("Ours");
const laterAuthority = new TestAuthority("Ours, a year later");
const servers: LimitedNats[] = [];

/** Starts a server that requires clients' certificates of the authority. */
async function startTlsNats(by: TestAuthority): Promise<{ host: string; port: number }> {
  const { certFile, keyFile } = by.issue("server");
  const files = `cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${by.certFile}"`;
  const server = await startLimitedNats(`tls: {${files}, verify: true}`, { TEST: "" });
  servers.push(server);
  return { host: "127.0.0.1", port: Number(server.login("TEST").servers.split(":")[1]) };
}

function filesOf(by: TestAuthority): Required<NonNullable<NatsLogin["tls"]>> {
  const { certFile, keyFile } = by.issue("client");
  return { caFile: by.certFile, certFile, keyFile };
}

const receivedPlain: Buffer[] = [];
let link: NatsLink | undefined;
const gate = await forFile(async () => TcpGate.open(await startTlsNats(authority)));
const plain = await forFile(() =>
  createServer((socket) => {
    socket.on("data", (bytes) => receivedPlain.push(bytes)).on("error", () => {});
    socket.write('INFO {"server_id":"P","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n');
  }),
);
plain.listen(0, "127.0.0.1");
await once(plain, "listening");
afterAll(async () => {
  await link?.close();
  await Promise.all(servers.map((server) => server.stop()));
  authority.close();
  laterAuthority.close();
});

describe("a connection to NATS over TLS", () => {
  it("is refused without a required certificate, and by a server certified by another authority", async () => {
    const login = { servers: `localhost:${gate.port}`, user: "TEST", pass: "secret" };
    const { caFile } = filesOf(authority);
    await expect(enter({ ...login, tls: { caFile } }, { reconnect: false })).rejects.toThrow();
    const strange = filesOf(laterAuthority);
    await expect(enter({ ...login, tls: strange }, { reconnect: false })).rejects.toThrow(/self.signed|unable to/);
    await (await enter({ ...login, tls: filesOf(authority) }, { reconnect: false })).close();
  });

  it("sends nothing to a server without TLS and logs why; renewed files count from the next connection on", async () => {
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
    expect(Buffer.concat(receivedPlain).toString()).toBe("");

    const renewed = filesOf(laterAuthority);
    for (const name of ["caFile", "certFile", "keyFile"] as const) copyFileSync(renewed[name]!, tls[name]!);
    gate.leadTo(await startTlsNats(laterAuthority));
    await expect.poll(() => link?.connection().flush()).toBeUndefined();
  });
});
