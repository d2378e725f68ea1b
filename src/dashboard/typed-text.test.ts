import { describe, expect, it } from "vitest";
import { accountName, quoted } from "./typed-text.ts";

describe("quoted()", () => {
  it.each([
    ["Café No. 5 – “Zürich”", String.raw`“Café No. 5 – \u{201c}Zürich\u{201d}”`],
    ['12" vinyl', String.raw`“12\u{22} vinyl”`],
    ["one\nline", String.raw`“one\u{a}line”`],
    ["turned \u202eround", String.raw`“turned \u{202e}round”`],
    [String.raw`\u{a}`, String.raw`“\u{5c}u{a}”`],
    ["می‌خواهم 👩‍💻 ❤️", "“می‌خواهم 👩‍💻 ❤️”"],
    ["shop\u3164\u2800\u034f", String.raw`“shop\u{3164}\u{2800}\u{34f}”`],
    ["a\u00a0b＂ ″", String.raw`“a\u{a0}b\u{ff02} \u{2033}”`],
  ])("%s", (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });
});

describe("accountName()", () => {
  it.each([
    ["shop", "STRIPE (shop)"],
    ["Live EU_2", "STRIPE (Live EU_2)"],
    ["shop) is paused. ADYEN (eu", "STRIPE (“shop) is paused. ADYEN (eu”)"],
    [" shop", "STRIPE (“ shop”)"],
    ["shop\u3164", String.raw`STRIPE (“shop\u{3164}”)`],
  ])("%s", (account, name) => {
    expect(accountName({ gateway: "STRIPE", account })).toBe(name);
  });
});
