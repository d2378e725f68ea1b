import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { DomainError } from "../platform/errors.ts";
import { buildBrowserFiles } from "./browser-files.ts";
import { CallCounts } from "./call-counts.ts";
import { publicHandler } from "./public-http.ts";
import { startVaultFixture } from "./vault.fixture.ts";

const shop = "https://shop.example";
// The goal of widget-and-vault.md for everything that the card frame loads.
const frameBytesMax = 14 * 1024;

const fixture = await forFile(startVaultFixture);

const get = (path: string, init?: RequestInit) => fetch(fixture.vault.origins.public + path, init);
const ancestorsOf = (response: Response) =>
  /frame-ancestors ([^;]+)/.exec(response.headers.get("content-security-policy") ?? "")?.[1];

describe("GET /frame", () => {
  it("may be embedded by the origins of its policy, and passes them to its script", async () => {
    const response = await get(`/frame?p=${await fixture.policy([shop, "https://b.example"])}`);
    expect(response.status).toBe(200);
    expect(ancestorsOf(response)).toBe("https://shop.example https://b.example");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.text()).toContain('<meta name="embedders" content="https://shop.example https://b.example">');
  });

  it("cannot be embedded without a policy that is signed, unexpired and of a known environment", async () => {
    const over = await fixture.policy([shop], { expiresAt: new Date(Date.now() - 60_000) });
    const [header, , signature] = (await fixture.policy([shop])).split(".");
    const forged = [header, Buffer.from('{"origins":["https://evil.example"]}').toString("base64url"), signature].join(
      ".",
    );
    for (const query of ["", "?p=", "?p=x", `?p=${over}`, `?p=${forged}`, `?p=${await fixture.grant("ps_1")}`]) {
      const response = await get(`/frame${query}`);
      expect(response.status).toBe(403);
      expect(ancestorsOf(response)).toBe("'none'");
      expect(await response.text()).toContain('<meta name="embedders" content="">');
    }
  });

  it("may be embedded by any page in test if the merchant registered none, and by no page in live", async () => {
    const page = await get(`/frame?p=${await fixture.policy([])}`);
    // Without the directive also by a file, which `*` does not name.
    expect([page.status, ancestorsOf(page)]).toEqual([200, undefined]);
    expect(await page.text()).toContain('<meta name="embedders" content="*">');
    expect(ancestorsOf(await get(`/frame?p=${await fixture.policy([], { environment: "live" })}`))).toBe("'none'");
  });

  it("runs only a file of its own origin, with the style that its policy names", async () => {
    const response = await get(`/frame?p=${await fixture.policy([shop])}`);
    const policy = response.headers.get("content-security-policy") ?? "";
    const html = await response.text();
    const [, style = ""] = /<style>([^<]+)<\/style>/.exec(html) ?? [];
    const digest = createHash("sha256").update(style).digest("base64");
    expect(policy).toContain(`default-src 'none'; script-src 'self'; style-src 'sha256-${digest}'; connect-src 'self'`);
    expect(policy).not.toMatch(/unsafe|data:|https?:\/\/(?!shop\.example)/);
    expect(html).not.toMatch(/<script(?![^>]* src="\/assets\/)|<style.*<style|<link| style=| on\w+=/s);
  });

  it(`loads in ${frameBytesMax / 1024} KB, gzipped`, async () => {
    const html = await (await get(`/frame?p=${await fixture.policy([shop])}`)).text();
    const paths = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
    expect(paths).toHaveLength(1);
    const texts = await Promise.all(paths.map(async (path) => (await get(path)).text()));
    const bytes = [html, ...texts].reduce((sum, text) => sum + gzipSync(text).length, 0);
    expect(bytes).toBeLessThan(frameBytesMax);
  });

  it("lets its files be cached permanently: their names are their content", async () => {
    const html = await (await get(`/frame?p=${await fixture.policy([shop])}`)).text();
    const [, path = ""] = /src="(\/assets\/[^"]+)"/.exec(html) ?? [];
    const response = await get(path);
    expect(response.headers.get("cache-control")).toContain("immutable");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("labels every field and names it for autofill", async () => {
    const html = await (await get(`/frame?p=${await fixture.policy([shop])}`)).text();
    for (const autocomplete of ["cc-number", "cc-exp", "cc-csc", "cc-name"]) {
      const [, id] = new RegExp(`<input id="(\\w+)"[^>]*autocomplete="${autocomplete}"`).exec(html) ?? [];
      expect(html).toContain(`<label for="${id}">`);
      expect(html).toMatch(new RegExp(`aria-describedby="[^"]*\\b${id}-problem"`));
    }
  });
});

describe("GET /authentication", () => {
  it("frames the service alone, for the pages of its policy, and asks nothing of the bank's page", async () => {
    const response = await get(`/authentication?p=${fixture.policy([shop], { serviceOrigin: "https://pay.example" })}`);
    expect([response.status, ancestorsOf(response)]).toEqual([200, shop]);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self'; frame-src https://pay.example; base-uri 'none'");
    expect(response.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    // Each of them would keep the bank's page out, or from payment and passkeys.
    for (const name of ["cross-origin-embedder-policy", "permissions-policy"])
      expect(response.headers.get(name)).toBeNull();
    const html = await response.text();
    expect(html).toContain(`<meta name="embedders" content="${shop}">`);
    expect(html).toContain('<meta name="service" content="https://pay.example">');
  });

  it("can be embedded by no page without a policy", async () => {
    for (const query of ["", "?p=x", `?p=${fixture.grant("ps_1")}`]) {
      const response = await get(`/authentication${query}`);
      expect([response.status, ancestorsOf(response)]).toEqual([403, "'none'"]);
      expect(response.headers.get("content-security-policy")).toContain("frame-src 'none'");
    }
  });
});

describe("the public port", () => {
  it("serves the SDK script to any page", async () => {
    const response = await get("/sdk.js?p=x");
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.text()).toContain("SwitchyardVault");
  });

  it("is alive", async () => {
    expect((await get("/healthz")).status).toBe(204);
  });

  it.each([
    ["https://vault.example", "max-age=63072000"],
    ["http://127.0.0.1:1", undefined],
    [undefined, undefined],
  ])("sends Strict-Transport-Security where browsers reach it by https: %s", async (publicOrigin, expected) => {
    const callCounts = new CallCounts(() => 1);
    const shared = {
      files: await buildBrowserFiles(),
      callCounts,
      clientOf: () => undefined,
      forwardingOf: () => "none; untrusted",
      isReady: async () => true,
      http: { send: () => Promise.reject(new Error("nothing is sent")) },
    };
    const { headers } = publicHandler({ ...fixture.config, ...shared, publicOrigin }).refuse(
      new DomainError("not_found", "Nothing is here."),
    );
    expect(headers).toHaveProperty("Request-Id");
    expect(headers["strict-transport-security"]).toBe(expected);
  });

  it("answers unknown paths and methods in the public error shape", async () => {
    const missing = await get("/nothing");
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ code: "not_found", requestId: missing.headers.get("request-id") });
    const wrong = await get("/tokens");
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("POST");
    expect(
      (await get("/tokens", { method: "OPTIONS", headers: { origin: shop } })).headers.get(
        "access-control-allow-origin",
      ),
    ).toBeNull();
  });
});
