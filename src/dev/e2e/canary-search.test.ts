import { describe, expect, it } from "vitest";
import {
  findTraces,
  tracesOfBytes,
  tracesOfCvc,
  tracesOfNumber,
  tracesOfParts,
  tracesOfText,
  withoutLongZeros,
} from "./canary-search.ts";

const number = "378282246310005";
const bytes = (fill: (buffer: Buffer) => void) => {
  const buffer = Buffer.alloc(8);
  fill(buffer);
  return buffer.toString("latin1");
};

describe("findTraces() of a card number", () => {
  it.each([
    ["plain", `x${number}y`],
    ["in groups", "3782 822463 10005"],
    ["with dashes", "3782-822463-10005"],
    ["digit by digit", [...number].join('","')],
    ["in UTF-16", Buffer.from(number, "utf16le").toString("latin1")],
    ["from the end", [...number].reverse().join("")],
    ["in hexadecimal", Buffer.from(`{"n":"${number}"}`).toString("hex")],
    ["in base64", Buffer.from(number).toString("base64")],
    ["in base64 behind one byte", Buffer.from(`"${number}"`).toString("base64")],
    ["in base64 behind two bytes", Buffer.from(`n=${number}&`).toString("base64")],
    ["as an integer", bytes((buffer) => buffer.writeBigInt64BE(BigInt(number)))],
    ["as an integer, little end first", bytes((buffer) => buffer.writeBigInt64LE(BigInt(number)))],
    ["as packed decimals", Buffer.from(`0${number}`, "hex").toString("latin1")],
  ])("finds it %s", (_, text) => {
    expect(findTraces(`before ${text} behind`, [...tracesOfNumber(number), ...tracesOfBytes(number)])).not.toEqual([]);
  });

  it("finds a part of it, and not the digits that may be shown", () => {
    expect(findTraces("82246310", tracesOfParts(number))).toEqual(["digits 5 to 12"]);
    const shown = "378282******0005 amex 10005 378282";
    expect(findTraces(shown, [...tracesOfNumber(number), ...tracesOfParts(number)])).toEqual([]);
  });
});

describe("findTraces() of other things", () => {
  it("finds a CVC beside its name only", () => {
    const traces = tracesOfCvc("7391");
    for (const text of ['"cvc":"7391"', "card%5Bcvc%5D=7391", "securityCode: 7391", "CVV2=7391&"]) {
      expect(findTraces(text, traces)).not.toEqual([]);
    }
    expect(findTraces('{"port":7391,"cvc":"****","at":17391}', traces)).toEqual([]);
  });

  it("finds the same in text without long runs of zeros", () => {
    const zeros = (count: number) => "\0".repeat(count);
    const shortened = withoutLongZeros(
      `${zeros(9_000)}${[...number].join(zeros(3))}${zeros(9_000)}cvc${zeros(24)}7391`,
    );
    expect(shortened.length).toBeLessThan(200);
    expect(findTraces(shortened, [...tracesOfNumber(number), ...tracesOfCvc("7391")])).toHaveLength(2);
    // What was too far apart stays so.
    expect(findTraces(withoutLongZeros(`cvc${zeros(9_000)}7391`), tracesOfCvc("7391"))).toEqual([]);
  });

  it("finds a text in any encoding", () => {
    const traces = tracesOfText("a name", "Zwi Quokkafeld");
    for (const text of ["Zwi Quokkafeld", "Zwi%20Quokkafeld", Buffer.from("\\Zwi Quokkafeld").toString("hex")]) {
      expect(findTraces(text, traces)).not.toEqual([]);
    }
    expect(findTraces(Buffer.from('["Zwi Quokkafeld"]').toString("base64"), traces)).toEqual(["a name, in base64"]);
  });
});
