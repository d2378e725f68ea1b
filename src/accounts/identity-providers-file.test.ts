import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findExclusive, hasDomain, parseIdentityProviders, serves } from "./identity-providers-file.ts";

const folder = mkdtempSync(join(tmpdir(), "identity-providers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const [secret, key, empty] = ["secret", "key.pem", "empty"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
writeFileSync(secret, "a secret\n");
writeFileSync(empty, "\n");
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));

const [mine, other] = ["mer_01h455vb4pex5vsknk084sn02q", "mer_01h455vb4pex5vsknk084sn02r"];
const entry = {
  ...{ id: "corp", name: "Example Corp", issuer: "https://login.example.com", clientId: "switchyard" },
  ...{ clientSecretFile: secret, domains: ["example.com"], merchants: [mine] },
};
const rule = { claim: "groups", value: "payments", merchants: [mine], role: "DEVELOPER", liveRole: "NONE" };
const parse = (...entries: object[]) => parseIdentityProviders(JSON.stringify(entries));

describe("parseIdentityProviders()", () => {
  it("reads an entry with its secret, which does not print", () => {
    const [provider] = parse({
      ...entry,
      roles: [rule],
      secondFactor: { claim: "amr", values: ["mfa"] },
      exclusive: true,
    });
    expect(provider).toMatchObject({ id: "corp", isExclusive: true, roles: [{ role: "DEVELOPER", liveRole: "NONE" }] });
    expect(provider!.clientSecret!.expose()).toBe("a secret");
    expect(JSON.stringify(provider)).not.toContain("a secret");
    const [merchantId] = provider!.merchants as string[];
    expect([serves(provider!, merchantId!), serves(provider!, "another")]).toEqual([true, false]);
    expect(
      ["a@example.com", "a@x.example.com", "a@notexample.com"].map((email) => hasDomain(provider!, email)),
    ).toEqual([true, false, false]);
    expect(findExclusive([provider!], "a@example.com")).toBe(provider);
    expect(findExclusive(parse(entry), "a@example.com")).toBeUndefined();
  });

  it("reads a private key in place of a secret", () => {
    const { clientSecretFile: _, ...rest } = entry;
    const [provider] = parse({ ...rest, privateKeyFile: key, merchants: "*" });
    expect(provider).toMatchObject({ clientSecret: undefined, merchants: "*" });
    expect(provider!.privateKey!.asymmetricKeyType).toBe("ec");
  });

  it.each<[string, object, string]>([
    ["an unknown member", { scope: "x" }, "must have only"],
    ["an id like a source of the dashboard", { id: "INVITATION" }, "[0].id"],
    ["an id with a slash", { id: "a/b" }, "[0].id"],
    ["an issuer in clear", { issuer: "http://login.example.com" }, "[0].issuer"],
    ["an issuer with a query", { issuer: "https://login.example.com?x" }, "[0].issuer"],
    ["both credentials", { privateKeyFile: key }, "either clientSecretFile or privateKeyFile"],
    ["no credentials", { clientSecretFile: undefined }, "either clientSecretFile or privateKeyFile"],
    ["an empty secret", { clientSecretFile: empty }, "not empty"],
    ["a secret that cannot be read", { clientSecretFile: join(folder, "none") }, "can be read"],
    ["no domain", { domains: [] }, "[0].domains"],
    ["a domain that is an address", { domains: ["a@example.com"] }, "[0].domains"],
    ["a domain in upper case", { domains: ["Example.com"] }, "[0].domains"],
    ["no merchant", { merchants: [] }, '"*" or a list'],
    ["a second factor without values", { secondFactor: { claim: "amr", values: [] } }, "secondFactor.values"],
    [
      "a rule of a merchant that it does not serve",
      { roles: [{ ...rule, merchants: [other] }] },
      "among the merchants",
    ],
    ["a rule for all merchants", { roles: [{ ...rule, merchants: "*" }] }, "roles[0].merchants"],
    ["a rule without a role in test", { roles: [{ ...rule, role: "NONE" }] }, "roles[0].role"],
    ["an owner in test alone", { roles: [{ ...rule, role: "OWNER" }] }, "must have OWNER as role and as liveRole"],
    ["an owner in live alone", { roles: [{ ...rule, liveRole: "OWNER" }] }, "must have OWNER as role and as liveRole"],
    ["a switch that is a text", { exclusive: "yes" }, "[0].exclusive"],
  ])("refuses %s, and names the place", (_, wrong, text) => {
    expect(() => parse({ ...entry, ...wrong })).toThrow(text);
  });

  it("refuses two entries of one id, and two that are exclusive for one domain", () => {
    expect(() => parse(entry, entry)).toThrow("[1].id");
    const exclusive = { ...entry, exclusive: true };
    expect(() => parse(exclusive, { ...exclusive, id: "other" })).toThrow("the domain example.com");
    expect(parse(exclusive, { ...entry, id: "other" })).toHaveLength(2);
  });

  it("refuses what is no list in JSON", () => {
    expect(() => parseIdentityProviders("{")).toThrow("it must be JSON");
    expect(() => parseIdentityProviders("{}")).toThrow("it must be a list");
  });
});
