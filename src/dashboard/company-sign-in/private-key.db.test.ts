/** A client that proves itself by a private key, and claims that only the provider's userinfo endpoint has. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IdentityProvider } from "../../accounts/identity-providers-file.ts";
import { CompanyBrowser } from "../../dev/testing/dashboard/company-browser.ts";
import { CompanyProvider } from "../../dev/testing/dashboard/company-provider.ts";
import { Pages } from "../../dev/testing/dashboard/pages.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { decodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { startDashboardFixture } from "../dashboard.fixture.ts";
import { serveForFile } from "../dashboard-server.fixture.ts";

const origin = "https://dashboard.example.com";
const identityProviders: IdentityProvider[] = [];
const dashboard = await forFile(() => startDashboardFixture({ members: true, identityProviders }));
const port = await serveForFile(dashboard, origin);
const { beginSignIn, arriveAt } = new CompanyBrowser(new Pages(() => dashboard), port);

/** A role for everybody whose address the provider has verified. */
const rule = {
  ...{ claim: "groups", value: "payments", merchants: [decodeId("mer", dashboard.merchantId)!] },
  ...({ role: "VIEWER", liveRole: "VIEWER" } as const),
};

type Options = Parameters<typeof CompanyProvider.start>[2] & { readonly privateKey?: KeyObject };

/** Signs a new account in at a new provider, and returns where that leads. */
async function targetAt({ privateKey, ...options }: Options, name: string): Promise<string | undefined> {
  const company = await CompanyProvider.start(origin, "corp", options);
  onTestFinished(() => company.close());
  const { issuer, clientId, clientSecret } = company;
  const entry: IdentityProvider = {
    ...{ id: "corp", name: "Example Corp", issuer, clientId, domains: ["corp.example"], merchants: "*" },
    ...{ clientSecret: privateKey ? undefined : new Secret(clientSecret), privateKey, roles: [rule] },
    ...{ isExclusive: false, secondFactor: undefined },
  };
  identityProviders.splice(0, 1, entry);
  const email = `${name}@corp.example`;
  company.accounts.set(name, { email, email_verified: true, name, groups: ["payments"] });
  const begun = await beginSignIn();
  return (await arriveAt(await company.signIn(begun.authorizationUrl, name), begun)).target;
}

const pairs = {
  RSA: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  "P-256": () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  Ed25519: () => generateKeyPairSync("ed25519"),
} as const;

describe("a private key", () => {
  it.each(["RSA", "P-256", "Ed25519"] as const)("of the kind %s proves the client", async (kind) => {
    const { publicKey, privateKey } = pairs[kind]();
    expect(await targetAt({ publicKey, privateKey }, kind.toLowerCase())).toBe("/");
  });

  it("of another client does not", async () => {
    const { publicKey } = pairs.RSA();
    const { privateKey } = pairs.RSA();
    expect(await targetAt({ publicKey, privateKey }, "other")).toBe("/company-sign-in?refused=refused");
  });
});

describe("a claim that the ID token has not", () => {
  it("is read at the userinfo endpoint", async () => {
    expect(await targetAt({ isSparse: true }, "sparse")).toBe("/");
    const rows = await dashboard.accountRows(
      "SELECT role FROM membership m JOIN member p ON p.id = m.member_id WHERE p.email = $1",
      ["sparse@corp.example"],
    );
    expect(rows).toEqual([{ role: "VIEWER" }]);
  });
});
