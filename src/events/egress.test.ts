import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Receiver } from "../dev/testing/receiver.ts";
import { classifyNoAnswer, Egress, type EgressRule, parseEndpointUrl } from "./egress.ts";

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

const post = (rule: EgressRule, url: string) => {
  const egress = new Egress(rule);
  egresses.push(egress);
  return egress.post(url, {}, Buffer.from("{}"));
};
const noAnswer = (rule: EgressRule, url: string) =>
  post(rule, url).then(
    (answer) => `answered ${answer.statusCode}`,
    (error: unknown) => classifyNoAnswer(error),
  );

describe("parseEndpointUrl()", () => {
  it("allows names and public addresses on the ports of the rule", () => {
    expect(parseEndpointUrl("https://example.com/hook?a=1", live).href).toBe("https://example.com/hook?a=1");
    expect(parseEndpointUrl("https://8.8.8.8:8443/", live).port).toBe("8443");
  });

  it("allows http and every port outside live, and still only public addresses", () => {
    expect(parseEndpointUrl("http://example.com:3000/", test).port).toBe("3000");
    expect(() => parseEndpointUrl("http://127.0.0.1:3000/", test)).toThrow("public address");
    expect(() => parseEndpointUrl("localhost:3000", test)).toThrow("must begin with http:// or https://.");
    expect(() => parseEndpointUrl("http://example.com/", live)).toThrow("must begin with https://.");
    expect(parseEndpointUrl("http://127.0.0.1:3000/", open).port).toBe("3000");
  });
});

describe("Egress.post()", () => {
  it("posts to an opened address and returns the answer", async () => {
    receiver.answerWith({ status: 503, headers: { "retry-after": "7" }, body: "busy" });
    const answer = await post(open, receiver.url);
    expect({ ...answer, bodyStart: answer.bodyStart.toString() }).toEqual({
      statusCode: 503,
      retryAfter: "7",
      bodyStart: "busy",
    });
  });

  it("follows no redirect, not even to an address that is allowed", async () => {
    receiver.answerWith({ status: 307, headers: { location: "/elsewhere" } });
    expect((await post(open, receiver.url)).statusCode).toBe(307);
    expect(receiver.requests).toHaveLength(1);
  });

  it("classifies its failure", async () => {
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
