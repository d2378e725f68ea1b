import { describe, expect, it } from "vitest";
import { parseFromFrame, parseInit, parseToFrame } from "./frame-messages.ts";

describe("parseToFrame()", () => {
  it("accepts the messages of a page", () => {
    expect(parseToFrame({ type: "focus" })).toEqual({ type: "focus" });
    expect(parseToFrame({ type: "tokenize", request: 1, sdkAuthorization: "x" })).toBeDefined();
    expect(parseToFrame({ type: "ask", brand: "" })).toBeDefined();
    expect(parseToFrame({ type: "checkCode", request: 1 })).toBeDefined();
    expect(parseToFrame({ type: "sendCode", request: 1, sdkAuthorization: "x", token: "tok_1" })).toBeDefined();
  });

  it("refuses everything else", () => {
    const others = [
      null,
      "focus",
      1,
      {},
      { type: "toString" },
      { type: "ready" },
      { type: "setDisabled", disabled: "yes" },
      { type: "ask" },
      { type: "checkCode" },
      { type: "sendCode", request: 1, sdkAuthorization: "x" },
    ];
    for (const data of [...others, { type: "tokenize", request: "1", sdkAuthorization: "x" }]) {
      expect(parseToFrame(data)).toBeUndefined();
    }
  });
});

describe("parseFromFrame()", () => {
  it("accepts the messages of the frame and nothing else", () => {
    expect(parseFromFrame({ type: "resize", height: 200 })).toBeDefined();
    expect(parseFromFrame({ type: "coded", request: 1 })).toBeDefined();
    expect(parseFromFrame({ type: "coded" })).toBeUndefined();
    expect(parseFromFrame({ type: "resize", height: "200px" })).toBeUndefined();
    expect(parseFromFrame({ type: "focus" })).toBeUndefined();
  });
});

describe("parseInit()", () => {
  const init = { type: "switchyard-card-frame", locale: "en", theme: "auto", variables: { radius: "1px" } };

  it("accepts only a complete init message", () => {
    expect(parseInit(init)).toEqual(init);
    expect(parseInit({ ...init, type: "x" })).toBeUndefined();
    expect(parseInit({ ...init, variables: { radius: 1 } })).toBeUndefined();
    expect(parseInit({ ...init, locale: undefined })).toBeUndefined();
  });
});
