import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { WatchedFile } from "../platform/watched-file.ts";
import { addService, parseServices, type ServiceEntry } from "./services-file.ts";

const orders: ServiceEntry = {
  name: "orders",
  environment: "test",
  merchants: ["mer_01h455vb4pex5vsknk084sn02q"],
  rights: ["sessions.create"],
};
const { file, privateKey } = addService("[]", orders);
const [entry] = JSON.parse(file) as [Record<string, unknown>];
const textWith = (change: object) => JSON.stringify([{ ...entry, ...change }]);

describe("parseServices()", () => {
  it("reads services with their merchants and rights", () => {
    expect(parseServices(file)).toMatchObject([
      { kid: "orders", environment: "test", merchants: [expect.any(String)], rights: ["sessions.create"] },
    ]);
    expect(parseServices(textWith({ merchants: "*" }))).toMatchObject([{ merchants: "*" }]);
    expect(parseServices("[]")).toEqual([]);
  });

  it.each([
    ["no JSON", "{", /must be JSON/],
    ["no list", "{}", /must be a list/],
    ["no object", "[1]", /^\[0\] must be an object/],
    ["a member that is unknown", textWith({ right: [] }), /no other member/],
    ["a name in capitals", textWith({ name: "Orders" }), /\[0\]\.name must be lower-case/],
    ["no environment", textWith({ environment: "demo" }), /environment must be test or live/],
    ["a private key", textWith({ publicKey: privateKey }), /public keys only/],
    ["no key", textWith({ publicKey: "x" }), /publicKey must be an Ed25519 public key/],
    ["no merchant", textWith({ merchants: [] }), /merchants must be/],
    ["what is no merchant", textWith({ merchants: ["ps_01h455vb4pex5vsknk084sn02q"] }), /merchants must be/],
    ["no right", textWith({ rights: [] }), /rights must be a list of sessions\.create/],
    ["an unknown right", textWith({ rights: ["everything"] }), /rights must be a list/],
    [
      "a key twice",
      JSON.stringify([entry, { ...entry, name: "reports", publicKey: `\n${entry!.publicKey}` }]),
      /\[1\]\.publicKey must be another/,
    ],
    ["a name twice", JSON.stringify([entry, entry]), /\[1\]\.name must be another/],
  ])("refuses %s", (_, text, message) => expect(() => parseServices(text)).toThrow(message));
});

describe("addService()", () => {
  it("adds a service, and gives one that is there another key", () => {
    const added = addService(file, { ...orders, name: "reports", merchants: "*", rights: ["ledger.read"] });
    expect(parseServices(added.file).map(({ kid }) => kid)).toEqual(["orders", "reports"]);
    const renewed = addService(file, orders);
    expect(parseServices(renewed.file)).toHaveLength(1);
    expect(renewed.file).not.toBe(file);
  });
});

describe("ServicesFile", () => {
  it("uses a changed file, keeps its services while it is invalid and has none without it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "services-"));
    const path = join(folder, "services.json");
    writeFileSync(path, "[]");
    const errors: string[] = [];
    const services = new WatchedFile(path, { parse: parseServices, onBroken: (error) => errors.push(String(error)) });
    const stop = services.renew(5);
    onTestFinished(() => {
      stop();
      rmSync(folder, { recursive: true });
    });
    const names = () => services.entries.map(({ kid }) => kid);
    writeFileSync(path, file);
    await expect.poll(names).toEqual(["orders"]);
    writeFileSync(path, textWith({ rights: ["everything"] }));
    await expect.poll(() => errors.length).toBeGreaterThan(2);
    expect(new Set(errors)).toEqual(new Set([expect.stringContaining("rights must be a list")]));
    expect(names()).toEqual(["orders"]);
    rmSync(path);
    await expect.poll(names).toEqual([]);
    expect(errors.at(-1)).toContain("ENOENT");
    writeFileSync(path, file);
    await expect.poll(names).toEqual(["orders"]);
  });
});
