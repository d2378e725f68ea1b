import { describe, expect, it } from "vitest";
import { derOf, derOfOid, encodeElement, readElement } from "./ber.ts";

const read = (hex: string) => readElement(Buffer.from(hex.replaceAll(" ", ""), "hex"));

describe("readElement()", () => {
  it("reads definite and indefinite lengths, and encodes both in DER", () => {
    for (const spelling of ["3005 020101 0500", "3080 020101 0500 0000"]) {
      const element = read(spelling);
      expect(element.children.map(({ tag, content }) => [tag, content.toString("hex")])).toEqual([
        [2, "01"],
        [5, ""],
      ]);
      expect(encodeElement(element).toString("hex")).toBe("30050201010500");
    }
  });

  it.each([
    ["nothing", ""],
    ["no length", "02"],
    ["a length beyond its end", "0202 01"],
    ["bytes behind it", "020101 00"],
    ["a child beyond its parent", "3003 020201 01"],
    ["a length that could be shorter", "0281 01 01"],
    ["a length that could be shorter by an octet", `0282 0080 ${"00".repeat(128)}`],
    ["a length of four octets", "0284 00000001 01"],
    ["an indefinite length of a primitive", "0480 0000"],
    ["an indefinite length without an end", "3080 020101"],
    ["a tag of several octets", "1f8101 00"],
    ["a tag of zero", "0000"],
    ["deeper nesting than certificates have", `${"3080".repeat(30)}${"0000".repeat(30)}`],
  ])("refuses %s", (_, hex) => {
    expect(() => read(hex)).toThrow("no ASN.1");
  });
});

it("encodes lengths of one, two and three octets, and object identifiers", () => {
  for (const [length, head] of [
    [127, "047f"],
    [128, "048180"],
    [256, "04820100"],
    [65_536, "0483010000"],
  ] as const) {
    const der = derOf(0x04, Buffer.alloc(length));
    expect(der.subarray(0, head.length / 2).toString("hex")).toBe(head);
    expect(readElement(der).content).toHaveLength(length);
  }
  // https://learn.microsoft.com/windows/win32/seccertenroll/about-object-identifier (2026)
  expect(derOfOid("1.3.6.1.4.1.311.21.20").toString("hex")).toBe("06092b0601040182371514");
});
