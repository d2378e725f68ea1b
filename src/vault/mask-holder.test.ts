import { describe, expect, it } from "vitest";
import { maskCard, maskCardBytes } from "./mask.ts";

const card = { number: "4242424242424242", cvc: "739", holder: "Ada Lovelace" };
const masked = (text: string, holder = card.holder) => maskCard(text, { ...card, holder });

describe("maskCard() of the holder's name", () => {
  it.each([
    ["in a member", '{"billing_details":{"name":"Ada Lovelace"}}', '{"billing_details":{"name":"************"}}'],
    ["in capitals", '{"holder":"ADA LOVELACE"}', '{"holder":"************"}'],
    ["among words", "refused for Ada Lovelace.", "refused for ************."],
    ["behind a line end of JSON", '{"m":"hello\\nAda Lovelace"}', '{"m":"hello\\n************"}'],
    ["in a form", "a=1&name=Ada+Lovelace&x=Ada%20Lovelace", "a=1&name=************&x=**************"],
    ["escaped", '{"m":"\\u0041da\\u0020Lovelace"}', '{"m":"**********************"}'],
  ])("masks it %s", (_, text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  it.each([
    ["with letters beyond ASCII, as JSON", "Zoë Ünal", JSON.stringify({ a: "Zoë Ünal" })],
    ["with letters beyond ASCII, escaped", "Zoë Ünal", '{"a":"Zo\\u00eb \\u00DCnal"}'],
    ["without a space", "山田太郎", JSON.stringify({ a: "山田太郎" })],
    ["outside the plane of most letters", "𠮷 田", '{"a":"\\ud842\\udfb7 \\u7530"}'],
    ["with quotes", 'Ada "Countess" L', JSON.stringify({ a: 'Ada "Countess" L' })],
    ["with an apostrophe, in markup", "Ann O'Neil", "<p>Ann O&#39;Neil</p>"],
    ["that reads as a pattern", "A. (B) [c]* $", '{"a":"A. (B) [c]* $"}'],
    ["with spaces around", " Ada Lovelace ", '{"a":"Ada Lovelace"}'],
  ])("masks a name %s", (_, holder, text) => {
    const answer = Buffer.from(maskCardBytes(Buffer.from(text), { ...card, holder })).toString();
    expect(answer).toMatch(/^(?:\{"a":"\**"\}|<p>\**<\/p>)$/);
  });

  it("masks one plain word in a member called a name, and nowhere else", () => {
    const text = '{"status":"succeeded","name":"%","message":"succeeded"}';
    expect(masked(text.replace("%", "Succeeded"), "succeeded")).toBe(text.replace("%", "*********"));
    expect(masked("card[holder]=Cher&id=Cher", "Cher")).toBe("card[holder]=****&id=Cher");
  });

  it("keeps an answer readable, whatever the name", () => {
    const text = JSON.stringify({ status: "held", note: "a\nb c", id: "\u00ab cd", list: [1, "x"] }).replace(
      "«",
      "\\u00ab",
    );
    for (const holder of ['"status": "held', "nb c", "ab cd", ': "', "\\ x", "bb c"]) {
      expect(JSON.parse(masked(text, holder))).toMatchObject({ status: "held" });
    }
  });

  it("leaves an answer unchanged if the customer gave no name", () => {
    expect(maskCard('{"name":"Ada Lovelace"}', { number: card.number, cvc: card.cvc })).toBe('{"name":"Ada Lovelace"}');
  });

  it("takes time linear in the answer, whatever the name and the answer repeat", () => {
    const holder = `${"a".repeat(49)} ${"a".repeat(48)}b`;
    const answer = JSON.stringify({
      a: "a".repeat(500_000),
      b: `${"a".repeat(49)} `.repeat(10_000),
      c: "%61&#97;".repeat(1_000),
    });
    expect(masked(answer, holder)).toBe(answer);
  });
});
