import { describe, expect, it, onTestFinished, vi } from "vitest";
import { joined, readings } from "./decoded-text.ts";
import { maskCard, maskCardBytes } from "./mask.ts";

const card = { number: "4242424242424242", cvc: "739" };
const latin1 = (text: string) => Buffer.from(text).toString("latin1");
const masked = (text: string) => maskCard(text, card);

describe("maskCard() of the card's own number", () => {
  it.each([
    ["plain", '{"n":"4242424242424242"}', '{"n":"************4242"}'],
    ["split by spaces", "card 4242 4242 4242 4242.", "card **** **** **** 4242."],
    ["split by dashes", "4242-4242-4242-4242", "****-****-****-4242"],
    ["split in a list", '["4242","4242","4242","4242"]', '["****","****","****","4242"]'],
    ["form-encoded", "n=4242%204242%204242%204242&x=1", "n=****%20****%20****%204242&x=1"],
    ["inside a longer text", "x4242424242424242y", "x************4242y"],
    ["escaped in JSON", '"\\u0034242424242424242"', '"************4242"'],
    ["escaped as programs print objects", "\\x34242424242424242", "************4242"],
    ["in full width", latin1("４２４２４２４２４２４２４２４２"), `${"*".repeat(12)}${latin1("４２４２")}`],
    [
      "in full width in JSON",
      latin1('{"n":"４２４２４２４２４２４２４２４２"}'),
      `{"n":"${"*".repeat(12)}${latin1("４２４２")}"}`,
    ],
    ["percent-encoded", "%34242424242424242", "************4242"],
    ["twice", "4242424242424242,4242424242424242", "************4242,************4242"],
    ["a whole header", "4242424242424242", "************4242"],
    ["named as a reference", '{"reference":"4242424242424242"}', '{"reference":"************4242"}'],
    ["the end of a name", '{"id":"pi_4242424242424242"}', '{"id":"pi_************4242"}'],
    ["a member's name", '{"4242424242424242":1}', '{"************4242":1}'],
    ["split by tabs of JSON", '"4242\\t4242\\t4242\\t4242"', '"****\\t****\\t****\\t4242"'],
    ["split by line ends of JSON", '"42424242\\r\\n42424242"', '"********\\r\\n****4242"'],
    ["split by line ends", "42424242\r\n      42424242", "********\r\n      ****4242"],
    ["split in markup", "4242&nbsp;4242&#160;4242&#xA0;4242", "****&nbsp;****&#160;****&#xA0;4242"],
    ["written in markup", "&#52;242&#x34;24242424242", "************4242"],
    ["split over two members", '{"a":"42424242","b":"42424242"}', '{"a":"********","b":"****4242"}'],
    ["split over numbers", '{"a":42424242,"b":{"c":42424242}}', '{"a":"********","b":{"c":"****4242"}}'],
    [
      "split around others",
      '{"bin":"424242","brand":"visa","end":"4242424242"}',
      '{"bin":"******","brand":"visa","end":"******4242"}',
    ],
    ["split over a form", "a=42424242&b=42424242", "a=********&b=****4242"],
    [
      "JSON within JSON",
      '{"raw":"{\\"n\\":\\"4242\\\\t424242424242\\"}"}',
      '{"raw":"{\\"n\\":\\"****\\\\t********4242\\"}"}',
    ],
    ["in a UUID", "00000000-4242-4242-4242-4242deadbeef", "00000000-****-****-****-4242deadbeef"],
  ])("masks a number that is %s", (_, text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  it("keeps JSON readable where the number was not a string", () => {
    expect(JSON.parse(masked('{"n": 4242424242424242, "amount": 4900}'))).toEqual({
      n: "************4242",
      amount: 4900,
    });
  });
});

describe("maskCard() of the CVC", () => {
  it.each([
    ["in JSON", '{"cvc":"739","cvv2": 739}', '{"cvc":"***","cvv2": "***"}'],
    ["in a form", "card[cvc]=739&card%5BsecurityCode%5D=739", "card[cvc]=***&card%5BsecurityCode%5D=***"],
    [
      "as PayPal names it",
      '{"card_verification":"739","verification_value":"739"}',
      '{"card_verification":"***","verification_value":"***"}',
    ],
  ])("masks it %s in a member of its name", (_, text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  it("leaves three digits under another name unchanged, and another value under that name", () => {
    const text = '{"amount":739,"cvc_check":"739","cvc":"M"}';
    expect(masked(text)).toBe(text);
  });
});

describe("maskCard() of a device's cryptogram", () => {
  const bytes = Buffer.from("fbeffffffe8a5c0f1846d1a53003f2ad94e0c000", "hex");
  const cryptogram = bytes.toString("base64");
  const hidden = (text: string) => maskCard(text, { ...card, cryptogram });
  /** What is left of a masked text without stars and padding, which say nothing. */
  const left = (text: string) => hidden(text).replaceAll(/[*=]|%3[dD]|\\u003d/g, "");

  it.each([
    ["plain", cryptogram],
    ["without padding", cryptogram.replaceAll("=", "")],
    ["of the other alphabet", bytes.toString("base64url")],
    ["in hexadecimal", bytes.toString("hex")],
    ["in capitals of hexadecimal", bytes.toString("hex").toUpperCase()],
    ["percent-encoded", encodeURIComponent(cryptogram)],
    ["percent-encoded in small letters", cryptogram.replaceAll(/[+/]/g, (sign) => (sign === "+" ? "%2b" : "%2f"))],
    ["with its pluses as spaces", cryptogram.replaceAll("+", " ")],
    ["escaped in JSON", cryptogram.replaceAll("/", "\\/").replaceAll("+", "\\u002b").replaceAll("=", "\\u003d")],
    ["written in markup", cryptogram.replaceAll("+", "&#43;").replaceAll("/", "&#x2F;")],
  ])("masks one that is %s", (_, form) => {
    expect(left(`{"a":"${form}","b":1}`)).toBe('{"a":"","b":1}');
    expect(JSON.parse(hidden(`{"a":"${form}","b":1}`))).toMatchObject({ b: 1 });
    expect(left(`refused for ${form}.`)).toBe("refused for .");
    if (!/[ &]/.test(form)) expect(left(`a=${form}&b=1`)).toBe("a&b1");
    expect(left(form)).toBe("");
  });

  it("masks it in JSON within JSON, and in a member's name", () => {
    expect(left(JSON.stringify({ raw: JSON.stringify({ value: cryptogram }) }))).toBe(
      String.raw`{"raw":"{\"value\":\"\"}"}`,
    );
    expect(left(JSON.stringify({ [cryptogram]: 1 }))).toBe('{"":1}');
  });

  it("leaves an answer without it unchanged", () => {
    const text = '{"id":"pi_1","amount":4900,"other":"AAAA+BBB/CCCC=="}';
    expect(hidden(text)).toBe(text);
  });
});

describe("maskCard() of other numbers", () => {
  it.each([
    ["among words", "declined: 5555555555554444 is lost", "declined: ************4444 is lost"],
    ["split", '{"m":"3782 822463 10005"}', '{"m":"**** ****** *0005"}'],
    ["among words of JSON", '{"m":"5555555555554444, lost"}', '{"m":"************4444, lost"}'],
    ["in a card's member", '{"card":{"number":"5555555555554444"}}', '{"card":{"number":"************4444"}}'],
    [
      "a number in a card's member",
      '{"primary_account_number":5555555555554444}',
      '{"primary_account_number":"************4444"}',
    ],
    ["in a card's field", "card%5Bnumber%5D=5555555555554444&a=1", "card%5Bnumber%5D=************4444&a=1"],
  ])("masks one %s", (_, text, expected) => {
    expect(masked(text)).toBe(expected);
  });

  it.each([
    ["a string", '{"transId":"601109000007","pspReference":"4111111111111111"}'],
    ["a number", '{"id":4111111111111111}'],
    ["behind a byte order mark", '\u00ef\u00bb\u00bf{"transId":"4111111111111111"}'],
    ["in a list", '{"refunds":["4111111111111111"]}'],
    ["in a form", "txn_id=4111111111111111&status=ok"],
    ["a whole header", "4111111111111111"],
    ["at the end of a name", '{"id":"ch_4111111111111111"} '],
    ["in a UUID", '{"pspReference":"auth_f36fc872-6628-4401-8488-40043c521b92"}'],
  ])("leaves a reference that reads as a card number unchanged: %s", (_, text) => {
    expect(masked(text)).toBe(text);
  });

  it("leaves unchanged what is no card number: times, amounts, wrong check digits, lengths of no network", () => {
    const text = "psp 8835511210681324 at 1700000000000 was 4242424242424241 or 424242424242426";
    expect(masked(text)).toBe(text);
  });
});

describe("maskCard() of the holder's name", () => {
  const card = { number: "4242424242424242", cvc: "739", holder: "Ada Lovelace" };
  const masked = (text: string, holder = card.holder) => maskCard(text, { ...card, holder });

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

describe("readings()", () => {
  it("are eight at most, each made on request and none longer than the original, for any input", () => {
    const sent = "&#52;%34\\u0034%26#52;\\u0026#52;\\u002534&#37;34&#92;u0034\xc3\xa4".repeat(50);
    const all = joined(sent, [{ from: 0, to: sent.length }]);
    const texts = Array.from(readings(all), ({ text }) => text);
    expect(texts).toHaveLength(8);
    expect(new Set(texts).size).toBe(8);
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(all.text.length);
    const undone = vi.spyOn(String, "fromCharCode");
    onTestFinished(() => undone.mockRestore());
    expect(readings(all).next().done).toBe(false);
    expect(undone).not.toHaveBeenCalled();
  });
});

describe("maskCardBytes()", () => {
  it("changes no other byte, whatever the encoding", () => {
    const around = Buffer.from([0xff, 0xc3, 0xa9, 0x00]);
    const bytes = Buffer.concat([around, Buffer.from(card.number), around]);
    expect(maskCardBytes(bytes, card)).toEqual(Buffer.concat([around, Buffer.from("************4242"), around]));
  });
});
