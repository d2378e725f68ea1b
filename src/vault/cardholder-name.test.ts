/** Cardholders' names at every destination: each gateway gets a name that its own rule accepts. */
import { describe, expect, it } from "vitest";
import { destinations } from "./destinations.ts";
import { planFill } from "./fill-body.ts";

const card = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "123" };

type NameRule = { readonly isRequired?: true; readonly shape: RegExp };

// EMV 3DS 2.2.0, table A.1, cardholderName, in the characters that every version of the common set has.
const emv: NameRule = { isRequired: true, shape: /^(?=[^ ].*[^ ]$)[A-Za-z0-9 .,'/&()-]{2,45}$/ };

/** The rules of the gateways' OpenAPI files, which take every script; of the providers, those of EMV 3DS. */
const rules: Readonly<Record<string, NameRule>> = {
  SANDBOX_A: { shape: /^.{1,5000}$/u },
  SANDBOX_B: { shape: /^.{1,15000}$/u },
  STRIPE: { shape: /^.{1,5000}$/u },
  PAYPAL: { shape: /^.{1,300}$/ },
  ADYEN: { shape: /^.{1,15000}$/u },
  ADYEN_3DS: { shape: /^.{1,15000}$/u },
  SANDBOX_3DS: emv,
  THREEDSECUREIO: emv,
};

const named = destinations.flatMap((row) =>
  Object.entries(row.fields)
    .filter(([, template]) => /holder/i.test(template))
    .map(([place, template]) => ({ row, place, template, rule: rules[row.connector] })),
);

/** The names, each with what a message of EMV 3DS carries of it. */
const names: readonly (readonly [string, string | undefined, string])[] = [
  ["a plain name", "Ada Lovelace", "Ada Lovelace"],
  ["59 letters", `${"Maria ".repeat(9)}Lopez`, "Maria Maria Maria Maria Maria Maria Maria Mar"],
  ["a cut after a space", `${"a".repeat(44)} b`, "a".repeat(44)],
  ["100 letters that double", "ß".repeat(100), "s".repeat(45)],
  ["accents", "Zoë Ångström-Łukasz", "Zoe Angstrom-Lukasz"],
  ["accents of their own", "Zoe\u0308 Núñez", "Zoe Nunez"],
  ["Cyrillic", "Иван Щербаков", "Ivan Shcherbakov"],
  ["Greek", "Ναταλία Παπαδοπούλου", "Natalia Papadopoyloy"],
  ["Chinese", "李小龍", "LiXiaoLong"],
  ["Japanese", "さくら タナカ", "sakura tanaka"],
  ["Korean", "김 민수", "Gim MinSu"],
  ["Arabic, with a mark that no name has", "محمد علي", "mhmd ly"],
  ["Hebrew", "משה כהן", "msh khhn"],
  ["wide letters", "ＡＤＡ　ＬＯＶＥＬＡＣＥ", "ADA LOVELACE"],
  ["typographic marks", "Seán O’Brien–Smith", "Sean O'Brien-Smith"],
  ["a picture", "Ada 😀 Lovelace", "Ada Lovelace"],
  ["a placeholder", "{{card.number}}", "card.number"],
  ["a line separator", "Ada\u2028Lovelace", "Ada Lovelace"],
  ["only pictures", "😀😀", "Cardholder"],
  ["only marks", "--", "Cardholder"],
  ["one letter", "Ö", "Cardholder"],
  ["an invisible letter", "\u200b", "Cardholder"],
  ["spaces", "  ", "Cardholder"],
  ["nothing typed", undefined, "Cardholder"],
];

describe.each(named)("the name at $row.connector $row.operation", ({ row, place, template, rule }) => {
  const sent = (holder: string | undefined): unknown => {
    if (row.contentType === "application/x-www-form-urlencoded") {
      const body = new URLSearchParams({ [place]: template }).toString();
      return new URLSearchParams(planFill(row, Buffer.from(body))({ ...card, holder })).get(place) ?? undefined;
    }
    const path = place.split("/").slice(1);
    const body = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), template);
    const filled: unknown = JSON.parse(planFill(row, Buffer.from(JSON.stringify(body)))({ ...card, holder }));
    return path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], filled);
  };

  it.each(names)("keeps to its rule with %s", (_, holder, inEmv) => {
    const name = sent(holder);
    if (name === undefined) expect(rule).not.toMatchObject({ isRequired: true });
    else expect(name).toMatch(rule?.shape ?? /^no rule$/);
    if (rule === emv) expect(name).toBe(inEmv);
  });
});
