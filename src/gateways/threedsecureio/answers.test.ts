import { describe, expect, it } from "vitest";
import { jsonReply } from "../replies.fixture.ts";
import { readAres, readPostauth } from "./answers.ts";

const kept = { threeDSServerTransID: "t", messageVersion: "2.2.0" };
const reply = (json: object) => jsonReply({ threeDSServerTransID: "t", ...json });
const proven = { transStatus: "Y", eci: "05", dsTransID: "d", authenticationValue: "c" };
const extension = (name: string, value: unknown) => ({
  name,
  id: "x",
  criticalityIndicator: false,
  data: { any: value },
});
const cartesBancaires = [extension("CB-AVALGO", "4"), extension("CB-EXEMPTION", "4AAA"), extension("CB-SCORE", "57")];
const told = { algorithm: "4", exemption: "4AAA", score: "57" };

describe("the bank's message to the customer", () => {
  const told = (cardholderInfo: unknown, transStatus = "N") => {
    const ares = { messageType: "ARes", transStatus, acsURL: "https://bank.example/", acsTransID: "a", cardholderInfo };
    return readAres(reply(ares), kept, "01");
  };

  it("comes with every answer, also with a challenge and with the result of one", () => {
    for (const status of ["Y", "N", "R", "U", "C"])
      expect(told("Call us", status)).toHaveProperty("message", "Call us");
    const result = reply({ messageType: "RReq", transStatus: "N", cardholderInfo: "Call us" });
    expect(readPostauth(result, kept)).toHaveProperty("message", "Call us");
  });

  it.each([
    ["has at most 128 characters", "€".repeat(200), "€".repeat(128)],
    ["is one line", " Call\n\tus\u2028at 1\u0000 ", "Call us at 1"],
    ["does not turn the direction of the text after it", "Call\u202eus", "Call us"],
    ["stays as it is, with tags that a page shows as text", "<b>Call</b> us", "<b>Call</b> us"],
    ["is well-formed", "Call\ud800", "Call\ufffd"],
    ["is absent where it is empty", "  ", undefined],
    ["is absent where it is no text", { text: "Call us" }, undefined],
  ])("%s", (_, sent, message) => {
    expect(told(sent)).toHaveProperty("message", message);
  });
});

describe("the answers of Cartes Bancaires", () => {
  it("are in the proof without a challenge", () => {
    const ares = reply({ messageType: "ARes", ...proven, messageExtension: cartesBancaires });
    expect(readAres(ares, kept, "01")).toMatchObject({ proof: { cartesBancaires: told } });
  });

  it("are kept over a challenge, after which the result has its own algorithm", () => {
    const ares = reply({
      messageType: "ARes",
      transStatus: "C",
      acsURL: "https://bank.example/",
      acsTransID: "a",
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
