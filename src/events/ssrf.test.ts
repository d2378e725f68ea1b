import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NameServer } from "../dev/testing/events/name-server.ts";
import { privateAnswers, privateHosts, refusedUrls } from "../dev/testing/events/ssrf-cases.ts";
import { DomainError } from "../platform/errors.ts";
import { classifyNoAnswer, Egress, type EgressRule, parseEndpointUrl } from "./egress.ts";
import { AddressNotAllowed, guardedConnector, isAddressAllowed, withoutBrackets } from "./egress-connect.ts";
import { createFindAddresses } from "./find-addresses.ts";

const live: EgressRule = { httpsOnly: true, ports: [443, 8443], openings: [] };
const test: EgressRule = { httpsOnly: false, ports: undefined, openings: [] };
const firstOnly: EgressRule = { httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32"] };
const anything: EgressRule = { httpsOnly: false, ports: undefined, openings: ["0.0.0.0/0", "::/0"] };

class LoopbackTrap {
  readonly #servers: Server[] = [];
  /** The local addresses that received a connection. */
  readonly reached: string[] = [];
  port = 0;

  async open(): Promise<void> {
    for (const host of ["127.0.0.1", "127.0.0.2", "::1"]) {
      const server = createServer((socket) => {
        this.reached.push(host);
        socket.on("error", () => {});
        socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
      });
      this.#servers.push(server.listen(this.port, host));
      await once(server, "listening");
      this.port = (server.address() as AddressInfo).port;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

let trap: LoopbackTrap;
let names: NameServer;
const egresses: Egress[] = [];
beforeEach(async () => {
  trap = new LoopbackTrap();
  await trap.open();
  names = await NameServer.start();
});
afterEach(async () => {
  await Promise.all(egresses.splice(0).map((egress) => egress.close()));
  await Promise.all([trap.close(), names.close()]);
});

function egressOf(rule: EgressRule): Egress {
  const egress = new Egress(rule, { findAddresses: createFindAddresses([names.address]) });
  egresses.push(egress);
  return egress;
}
const outcomeOf = (posted: Promise<{ statusCode: number }>) =>
  posted.then(({ statusCode }) => statusCode, classifyNoAnswer);
const post = (egress: Egress, host: string) =>
  outcomeOf(egress.post(`http://${host}:${trap.port}/hook`, {}, Buffer.from("{}")));
const hosts = Object.entries(privateHosts).flatMap(([kind, list]) => list.map((host) => ({ kind, host })));
const shown = (host: string) => ({ host, shown: JSON.stringify(host) });

describe("a URL with a private host", () => {
  it.each(hosts.map((row) => ({ ...row, ...shown(row.host) })))(
    "is refused at registration: $shown ($kind)",
    ({ host }) => {
      for (const rule of [live, test]) {
        expect(() => parseEndpointUrl(`https://${host}/hook`, rule)).toThrow("must lead to a public address");
      }
    },
  );

  it("is refused on a post, without a connection", async () => {
    const egress = egressOf(test);
    for (const { host } of hosts) expect([host, await post(egress, host)]).toEqual([host, "address_not_allowed"]);
    expect(trap.reached).toEqual([]);
    expect(names.questions).toEqual([]);
  });

  it("is refused by the connector itself, whatever was checked before", async () => {
    const connect = guardedConnector({
      openings: [],
      findAddresses: createFindAddresses([names.address]),
      timeoutMs: 5_000,
    });
    const literals = hosts.map(({ host }) => URL.parse(`http://${host}/`)?.hostname ?? host);
    for (const hostname of literals.filter((literal) =>
      isAddressAllowed(withoutBrackets(literal), anything.openings),
    )) {
      const error = await new Promise((resolve) =>
        connect({ hostname, protocol: "http:", port: String(trap.port) }, (...[error]) => resolve(error)),
      );
      expect([hostname, error]).toEqual([hostname, expect.any(AddressNotAllowed)]);
    }
    expect(trap.reached).toEqual([]);
  });

  it("would reach us if it were not refused", async () => {
    const egress = egressOf(anything);
    const loopback = Object.entries(privateHosts).filter(([kind]) => kind.startsWith("loopback"));
    for (const host of loopback.flatMap(([, list]) => list).filter((host) => !host.startsWith("127.255"))) {
      expect([host, await post(egress, host)]).toEqual([host, 200]);
    }
    expect(trap.reached).not.toEqual([]);
  });
});

describe("a URL of another kind", () => {
  it.each(refusedUrls)("is refused at registration and on a post: %j", async (url, message) => {
    expect(() => parseEndpointUrl(url, live)).toThrow(message);
    expect(await outcomeOf(egressOf(live).post(url, {}, Buffer.from("{}")))).toBe("address_not_allowed");
    expect(trap.reached).toEqual([]);
  });
});

describe("a name", () => {
  it.each(Object.entries(privateAnswers))(
    "is refused at registration and on a post when it has %s",
    async (_, said) => {
      names.answerWith(said);
      const egress = egressOf(test);
      await expect(egress.requirePublic("https://hook.example.com/")).rejects.toThrow("must lead to a public address");
      expect(await post(egress, "hook.example.com")).toBe("address_not_allowed");
      expect(trap.reached).toEqual([]);
    },
  );

  it("is also refused behind aliases", async () => {
    names.answerWith(({ type }) => ({ alias: "inner.example.net", ...(type === "A" && { A: ["127.0.0.1"] }) }));
    const egress = egressOf(test);
    await expect(egress.requirePublic("https://hook.example.com/")).rejects.toThrow(DomainError);
    expect(await post(egress, "hook.example.com")).toBe("address_not_allowed");
    expect(names.questions.map(({ name }) => name)).toContain("hook.example.com");
  });

  it("may be registered with public addresses, and before it has any", async () => {
    const egress = egressOf(live);
    names.answerWith({ A: ["8.8.8.8"], AAAA: ["2606:4700:4700::1111"] });
    await egress.requirePublic("https://hook.example.com/");
    names.answerWith("no such name");
    await egress.requirePublic("https://hook.example.com/");
    await egress.requirePublic("https://8.8.8.8/");
  });

  it("that moves to another address between registration and connecting is refused then", async () => {
    const egress = egressOf(firstOnly);
    names.answerWith({ A: ["8.8.8.8"] });
    await egress.requirePublic(`http://hook.example.com:${trap.port}/`);
    names.answerWith({ A: ["127.0.0.2"] });
    expect(await post(egress, "hook.example.com")).toBe("address_not_allowed");
    expect(trap.reached).toEqual([]);
  });

  it("that changes at every look-up is connected to only at an address that was checked", async () => {
    const egress = egressOf(firstOnly);
    let look = 0;
    names.answerWith(({ type }) => {
      if (type !== "A") return {};
      look += 1;
      return { A: [look % 2 === 1 ? "127.0.0.1" : "127.0.0.2"] };
    });
    const outcomes = [];
    for (let count = 0; count < 6; count++) outcomes.push(await post(egress, "hook.example.com"));
    expect(outcomes).toEqual([200, "address_not_allowed", 200, "address_not_allowed", 200, "address_not_allowed"]);
    expect(new Set(trap.reached)).toEqual(new Set(["127.0.0.1"]));
  });

  it("without an address, or with a failing name server, is distinguished from a private one", async () => {
    const egress = egressOf(test);
    for (const said of ["no such name", "server failure", {}] as const) {
      names.answerWith(said);
      expect(await post(egress, "hook.example.com")).toBe("dns_failed");
    }
  });
});
