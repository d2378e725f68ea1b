import { describe, expect, it } from "vitest";
import type { GatewayReply } from "../../platform/outbound-http.ts";
import { readAres, readPostauth } from "./answers.ts";

const kept = { threeDSServerTransID: "t", messageVersion: "2.2.0" };
const reply = (json: object): GatewayReply => ({
  type: "answer",
  status: 200,
  headers: {},
  body: Buffer.from(JSON.stringify({ threeDSServerTransID: "t", ...json })),
});
const proven = { transStatus: "Y", eci: "05", dsTransID: "d", authenticationValue: "c" };
const extension = (name: string, value: unknown) => ({
  name,
  id: "x",
  criticalityIndicator: false,
  data: { any: value },
});
const cartesBancaires = [extension("CB-AVALGO", "4"), extension("CB-EXEMPTION", "4AAA"), extension("CB-SCORE", "57")];
const told = { algorithm: "4", exemption: "4AAA", score: "57" };

describe("the answers of Cartes Bancaires", () => {
  it("are in the proof without a challenge", () => {
    const ares = reply({ messageType: "ARes", ...proven, messageExtension: cartesBancaires });
    expect(readAres(ares, kept, "01")).toMatchObject({ proof: { cartesBancaires: told } });
  });

  it("are kept over a challenge, after which the result has its own algorithm", () => {
    const ares = reply({
      ...{ messageType: "ARes", transStatus: "C", acsURL: "https://bank.example/", acsTransID: "a" },
      messageExtension: cartesBancaires,
    });
    const asked = readAres(ares, kept, "01");
    if (asked.type !== "challenge") throw new Error("the bank asks");
    expect(asked.kept).toEqual({ ...kept, challengeIndicator: "01", isChallenged: true, cartesBancaires: told });
    const result = reply({ messageType: "RReq", ...proven, messageExtension: [extension("CB-AVALGO", "A")] });
    expect(readPostauth(result, asked.kept)).toMatchObject({ proof: { cartesBancaires: { ...told, algorithm: "A" } } });
  });

  it.each([
    ["none", undefined],
    ["another extension", [extension("OTHER", "4")]],
    ["an unknown algorithm", [extension("CB-AVALGO", "9")]],
    ["data of another shape", [extension("CB-AVALGO", { a: 1 }), "CB-AVALGO", null]],
    ["no list", { name: "CB-AVALGO" }],
  ])("are left out: %s", (_, messageExtension) => {
    const ares = readAres(reply({ messageType: "ARes", ...proven, messageExtension }), kept, "01");
    expect(ares).toMatchObject({ proof: { cryptogram: "c" } });
    expect(ares).not.toHaveProperty("proof.cartesBancaires");
  });
});
