import { describe, expect, it } from "vitest";
import { maskCardBytes, maskCardNumbers } from "./mask.ts";

const number = "4242424242424242";

describe("maskCardNumbers()", () => {
  it.each([
    ["plain", '{"n":"4242424242424242"}', '{"n":"************4242"}'],
    ["split by spaces", "card 4242 4242 4242 4242.", "card **** **** **** 4242."],
    ["split by dashes", "4242-4242-4242-4242", "****-****-****-4242"],
    ["split in a list", '["4242","4242","4242","4242"]', '["****","****","****","4242"]'],
    ["form-encoded", "n=4242%204242%204242%204242&x=1", "n=****%20****%20****%204242&x=1"],
    ["inside a longer text", "x4242424242424242y", "x************4242y"],
    ["escaped in JSON", '"\\u0034242424242424242"', '"************4242"'],
    ["percent-encoded", "%34242424242424242", "************4242"],
    ["twice", "4242424242424242,4242424242424242", "************4242,************4242"],
  ])("masks a number that is %s", (_, text, masked) => {
    expect(maskCardNumbers(text, number)).toBe(masked);
  });

  it("masks another card's number, also when it is split", () => {
    expect(maskCardNumbers("5555555555554444 or 3782 822463 10005", number)).toBe(
      "************4444 or **** ****** *0005",
    );
  });

  it("leaves what is no card number: references, times, amounts, wrong check digits", () => {
    const text = '{"psp":"8835511210681324","at":1700000000000,"n":"4242424242424241","id":"pi_4242424242424243"}';
    expect(maskCardNumbers(text, number)).toBe(text);
  });
});

describe("maskCardNumbers() in a UUID", () => {
  it("leaves a payment's name alone whose groups read as a card number", () => {
    const text = '{"pspReference":"auth_f36fc872-6628-4401-8488-40043c521b92"}';
    expect(maskCardNumbers(text, number)).toBe(text);
    expect(maskCardNumbers("6628-4401-8488", number)).toBe("****-****-8488");
  });

  it("masks the card's own number even there", () => {
    expect(maskCardNumbers("00000000-4242-4242-4242-424242424242", number)).toBe(
      "00000000-****-****-****-********4242",
    );
  });
});

describe("maskCardBytes()", () => {
  it("changes no other byte, whatever the encoding", () => {
    const around = Buffer.from([0xff, 0xc3, 0xa9, 0x00]);
    const masked = maskCardBytes(Buffer.concat([around, Buffer.from(number), around]), number);
    expect(masked).toEqual(Buffer.concat([around, Buffer.from("************4242"), around]));
  });
});
