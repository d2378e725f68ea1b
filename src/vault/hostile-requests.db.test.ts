import { describe, expect, it } from "vitest";
import { hostileHeaders, hostileHosts, hostileLines } from "../dev/testing/edge/hostile-heads.ts";
import { exchangeEndless, exchangeRaw } from "../dev/testing/edge/raw-exchange.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startVaultFixture, testCard } from "./vault.fixture.ts";
import { callLimits, tokenBodyBytesMax } from "./vault-limits.ts";

const fixture = await forFile(startVaultFixture);

const send = (bytes: string) => exchangeRaw(Number(new URL(fixture.vault.origins.public).port), bytes);

// The edge's table, except for rows that depend on its paths.
const heads = [...hostileHosts, ...hostileLines, ...hostileHeaders].filter(([, , status]) =>
  [400, 431].includes(status),
);
const post = "POST /tokens HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";

describe("the vault's public port", () => {
  it.each([
    ...heads,
    ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"] as const,
    ["TRACE", "TRACE /tokens HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"] as const,
    [
      "a body of nobody",
      `${post}Content-Length: ${tokenBodyBytesMax + 1}\r\n\r\n`,
      401,
      "invalid_client_secret",
    ] as const,
    [
      "an expectation of nobody",
      `${post}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
      401,
      "invalid_client_secret",
    ] as const,
  ])("answers once in the error shape, with its policies: %s", async (_, bytes, status, code) => {
    const { answers, rest } = await send(bytes);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect(rest).toBe("");
    const { headers, text } = answers[0]!;
    expect(JSON.parse(text)).toMatchObject({ code, status, requestId: headers.get("request-id") });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await fetch(`${fixture.vault.origins.public}/healthz`)).status).toBe(204);
  });

  it("refuses a card that is too long before it is sent", async () => {
    const grant = await fixture.grant("ps_long");
    const head = `${post}Authorization: Bearer ${grant}\r\nExpect: 100-continue\r\nContent-Length: ${tokenBodyBytesMax + 1}\r\n\r\n`;
    const { answers } = await send(head);
    expect(answers.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([[413, "close"]]);
  });

  it.each<[string, () => Promise<string>, number]>([
    ["without a grant", async () => post, 401],
    ["to a path that is none", async () => "POST /nothing HTTP/1.1\r\nHost: a\r\n", 404],
    ["of a card", async () => `${post}Authorization: Bearer ${await fixture.grant("ps_endless")}\r\n`, 413],
  ])("refuses and cuts a body without an end %s", async (_, head, status) => {
    const port = Number(new URL(fixture.vault.origins.public).port);
    const { answers, rest, isReadOn } = await exchangeEndless(port, await head());
    expect(answers.map((answer) => [answer.status, answer.headers.get("connection")])).toEqual([[status, "close"]]);
    expect([rest, isReadOn]).toEqual(["", false]);
  });

  it("counts no address behind a private one that is no trusted proxy: it may be every customer's", async () => {
    const statuses = [];
    for (let call = 0; call <= callLimits.address.burst; call++) {
      const headers = { "x-forwarded-for": "93.184.2.1" };
      statuses.push((await fixture.tokenize(`ps_${call}`, testCard, { headers })).status);
    }
    expect(new Set(statuses)).toEqual(new Set([201]));
  });
});
