import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Receiver } from "../testing/receiver.ts";
import { classifyNoAnswer, Egress, type EgressRule, type LookupAll, parseEndpointUrl } from "./egress.ts";

const live: EgressRule = { httpsOnly: true, ports: [443, 8443], openings: [] };
const test: EgressRule = { httpsOnly: false, ports: undefined, openings: [] };
const open: EgressRule = { httpsOnly: false, ports: undefined, openings: ["127.0.0.1/32", "::1/128"] };

let receiver: Receiver;
const egresses: Egress[] = [];
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  await Promise.all([receiver.close(), ...egresses.splice(0).map((egress) => egress.close())]);
});

const post = (rule: EgressRule, url: string, lookupAll?: LookupAll) => {
  const egress = new Egress(rule, lookupAll);
  egresses.push(egress);
  return egress.post(url, {}, Buffer.from("{}"));
};
const noAnswer = (rule: EgressRule, url: string, lookupAll?: LookupAll) =>
  post(rule, url, lookupAll).then(
    (answer) => `answered ${answer.statusCode}`,
    (error: unknown) => classifyNoAnswer(error),
  );

describe("parseEndpointUrl()", () => {
  it.each([
    ["http://example.com/hook", "must begin with https://"],
    ["ftp://example.com/hook", "must begin with https://"],
    ["https://user@example.com/", "must not hold a user name or password"],
    ["https://:word@example.com/", "must not hold a user name or password"],
    ["https://example.com/#part", "must not have a fragment"],
    ["https://example.com:22/", "must use port 443 or 8443"],
    ["https://127.0.0.1/", "must lead to a public address"],
    ["https://[::1]/", "must lead to a public address"],
    ["https://0x7f.1/", "must lead to a public address"],
    ["https://2130706433/", "must lead to a public address"],
    ["https://0177.0.0.1/", "must lead to a public address"],
    ["https://127.1/", "must lead to a public address"],
    ["https://①②⑦.0.0.1/", "must lead to a public address"],
    ["https://127。0。0。1/", "must lead to a public address"],
    ["https://169.254.169.254/latest/meta-data", "must lead to a public address"],
    ["https://[fd00:ec2::254]/", "must lead to a public address"],
    ["https://[::ffff:7f00:1]/", "must lead to a public address"],
    ["https://[64:ff9b::a9fe:a9fe]/", "must lead to a public address"],
    ["https://0/", "must lead to a public address"],
    ["/hook", "is not a URL"],
    [`https://example.com/${"x".repeat(2_048)}`, "is not a URL of at most 2048 characters"],
  ])("refuses %s in live", (url, message) => {
    expect(() => parseEndpointUrl(url, live)).toThrow(message);
  });

  it("allows names and public addresses on the ports of the rule", () => {
    expect(parseEndpointUrl("https://example.com/hook?a=1", live).href).toBe("https://example.com/hook?a=1");
    expect(parseEndpointUrl("https://8.8.8.8:8443/", live).port).toBe("8443");
  });

  it("allows http and every port outside live, and still only public addresses", () => {
    expect(parseEndpointUrl("http://example.com:3000/", test).port).toBe("3000");
    expect(() => parseEndpointUrl("http://127.0.0.1:3000/", test)).toThrow("public address");
    expect(parseEndpointUrl("http://127.0.0.1:3000/", open).port).toBe("3000");
  });
});

describe("Egress.post()", () => {
  it("posts to what is opened, with what was answered", async () => {
    receiver.answerWith({ status: 503, headers: { "retry-after": "7" }, body: "busy" });
    const answer = await post(open, receiver.url);
    expect({ ...answer, bodyStart: answer.bodyStart.toString() }).toEqual({
      statusCode: 503,
      retryAfter: "7",
      bodyStart: "busy",
    });
  });

  it("refuses a literal that is not public, for which no look-up is made", async () => {
    expect(await noAnswer(test, receiver.url)).toBe("address_not_allowed");
    expect(receiver.requests).toEqual([]);
  });

  it("refuses a name that leads to an address of our own", async () => {
    expect(await noAnswer(test, receiver.url.replace("127.0.0.1", "localhost"))).toBe("address_not_allowed");
    expect(receiver.requests).toEqual([]);
  });

  it("refuses a name of which one address is not public", async () => {
    const mixed: LookupAll = (_hostname, _options, callback) =>
      callback(null, [
        { address: "8.8.8.8", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]);
    expect(await noAnswer(test, receiver.url.replace("127.0.0.1", "mixed.example"), mixed)).toBe("address_not_allowed");
    expect(receiver.requests).toEqual([]);
  });

  it("follows no redirect, not even to an address that is allowed", async () => {
    receiver.answerWith({ status: 307, headers: { location: "/elsewhere" } });
    expect((await post(open, receiver.url)).statusCode).toBe(307);
    expect(receiver.requests).toHaveLength(1);
  });

  it("names what it died of", async () => {
    const { url } = receiver;
    receiver.answerWith("reset");
    expect(await noAnswer(open, url)).toBe("connection_lost");
    expect(await noAnswer(open, url.replace("http:", "https:"))).toBe("tls_failed");
    expect(await noAnswer(open, "http://no-such-host.invalid/")).toBe("dns_failed");
    await receiver.close();
    expect(await noAnswer(open, url)).toBe("connection_refused");
    receiver = await Receiver.start();
  });

  it("stops reading an endless answer and keeps only its beginning", async () => {
    const cut = Promise.withResolvers<void>();
    const endless = createServer((_request, response) => {
      response.on("close", () => cut.resolve());
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024, "x")));
      };
      response.on("drain", more);
      more();
    });
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
    const answer = await post(open, `http://127.0.0.1:${(endless.address() as AddressInfo).port}/`);
    expect(answer.statusCode).toBe(200);
    expect(answer.bodyStart).toHaveLength(1024);
    await cut.promise;
    endless.closeAllConnections();
    endless.close();
  });
});
