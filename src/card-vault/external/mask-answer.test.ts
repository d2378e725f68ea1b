import { describe, expect, it } from "vitest";
import { maskAnswer } from "./mask-answer.ts";

const number = "4242424242424242";
const masked = "************4242";
const mask = (value: unknown) => maskAnswer(value, "4242");

describe("maskAnswer()", () => {
  it("masks the card's own number anywhere, and leaves its last four digits", () => {
    const echo = {
      a: number,
      b: Number(number),
      c: [`for ${number}.`],
      d: { [number]: `x${number}` },
      e: "4242 4242 4242 4242",
    };
    expect(mask(echo)).toEqual({
      a: masked,
      b: masked,
      c: [`for ${masked}.`],
      d: { [masked]: `x${masked}` },
      e: "**** **** **** 4242",
    });
  });

  it("masks another plausible number in text, or under a card's name, and keeps references intact", () => {
    expect(mask({ message: "card 5555555555554444 refused", number: "5555555555554444" })).toEqual({
      message: "card ************4444 refused",
      number: "************4444",
    });
    const references = {
      pspReference: "5555555555554444",
      id: "auth_5555555555554444",
      uuid: "01890a5d-ac96-4555-5555-555555554444",
      time: 1763733600000,
      amount: 4900,
    };
    expect(mask(references)).toEqual(references);
  });

  it("masks a security code under a name of its kind", () => {
    expect(mask({ cvc: "737", card: { securityCode: "1234" }, cvcResult: "737" })).toEqual({
      cvc: "***",
      card: { securityCode: "****" },
      cvcResult: "737",
    });
  });

  it("still masks named values and text when nothing is known of the card", () => {
    expect(maskAnswer({ pan: number, message: `for ${number}` }, undefined)).toEqual({
      pan: masked,
      message: `for ${masked}`,
    });
  });
});
