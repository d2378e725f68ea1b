/** Bodies that POST /api/v1/payment-sessions refuses, each with everything that is wrong with it. */

/** A name, the body, and "code pointer" of every problem in order; one code alone for a body that is no JSON at all. */
export type BadBody = readonly [name: string, body: string | Uint8Array<ArrayBuffer>, problems: readonly string[]];

/**
 * A body with these members in place of, or beside, those of a good one; `undefined` leaves one out. Values are JSON
 * text.
 */
export function bodyWith(members: Readonly<Record<string, string | undefined>>): string {
  const all = { amountMinor: "4900", currency: '"EUR"', orderRef: '"order-1"', ...members };
  const written = Object.entries(all).filter(([, text]) => text !== undefined);
  return `{${written.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

const good = bodyWith({});

/** Rows that put one value into one member, and expect one problem there. */
function each(member: string, code: string, values: Readonly<Record<string, string | undefined>>): BadBody[] {
  return Object.entries(values).map(([name, text]) => [
    `${member}: ${name}`,
    bodyWith({ [member]: text }),
    [`${code} /${member}`],
  ]);
}

const bytes = (...parts: (string | number[])[]) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part as string))));

/** Texts that are no JSON, or that JSON readers interpret differently. */
export const brokenTexts: readonly BadBody[] = (
  [
    ["nothing", ""],
    ["white space", " \r\n\t"],
    ["half an object", '{"amountMinor":4900'],
    ["an object that is not closed", good.slice(0, -1)],
    ["two objects", `${good}${good}`],
    ["something after the object", `${good} x`],
    ["a comma at the end", `${good.slice(0, -1)},}`],
    ["no quotes around a name", "{amountMinor:4900}"],
    ["single quotes", "{'amountMinor':4900}"],
    ["a comment", `/* order */${good}`],
    ["a line comment", `// order\n${good}`],
    ["a leading zero", bodyWith({ amountMinor: "04900" })],
    ["a plus sign", bodyWith({ amountMinor: "+4900" })],
    ["hexadecimal", bodyWith({ amountMinor: "0x1324" })],
    ["digit separators", bodyWith({ amountMinor: "4_900" })],
    ["a number that ends with a point", bodyWith({ amountMinor: "4900." })],
    ["a number that begins with a point", bodyWith({ amountMinor: ".5" })],
    ["an exponent without digits", bodyWith({ amountMinor: "49e" })],
    ["NaN", bodyWith({ amountMinor: "NaN" })],
    ["Infinity", bodyWith({ amountMinor: "Infinity" })],
    ["undefined", bodyWith({ amountMinor: "undefined" })],
    ["a big integer literal", bodyWith({ amountMinor: "4900n" })],
    ["True", bodyWith({ amountMinor: "True" })],
    ["a raw line break in a string", bodyWith({ orderRef: '"a\nb"' })],
    ["a raw tab in a string", bodyWith({ orderRef: '"a\tb"' })],
    ["a raw NUL in a string", bodyWith({ orderRef: '"a\0b"' })],
    ["an escape that JSON does not know", bodyWith({ orderRef: '"\\x41"' })],
    ["a short \\u escape", bodyWith({ orderRef: '"\\u41"' })],
    ["a string that is not closed", '{"orderRef":"order'],
    ["a form", "amountMinor=4900&currency=EUR&orderRef=o"],
    ["XML", "<order/>"],
    ["a byte order mark", `\uFEFF${good}`],
    ["a no-break space before the object", `\u00a0${good}`],
    ["UTF-16", bytes([0xff, 0xfe], [...Buffer.from(good, "utf16le")])],
    ["a lone continuation byte", bytes('{"orderRef":"', [0x80], '"}')],
    ["an overlong slash", bytes('{"orderRef":"', [0xc0, 0xaf], '"}')],
    ["an encoded surrogate", bytes('{"orderRef":"', [0xed, 0xa0, 0x80], '"}')],
    ["a character beyond Unicode", bytes('{"orderRef":"', [0xf4, 0x90, 0x80, 0x80], '"}')],
    ["Latin-1", bytes('{"orderRef":"caf', [0xe9], '"}')],
    ["33 levels", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`],
    ["10 000 lists in each other", "[".repeat(10_000)],
    ["10 000 objects in each other", '{"a":'.repeat(10_000)],
  ] as const
).map(([name, body]): BadBody => [name, body, ["invalid_json"]]);

export const otherValues: readonly BadBody[] = ["null", "true", "4900", '"order"', "[]", `[${good}]`].map((body) => [
  `${body.slice(0, 8)} instead of an object`,
  body,
  ["invalid_field "],
]);

/** Unknown names, and names that occur twice. */
export const wrongNames: readonly BadBody[] = [
  ...each("tip", "unknown_field", { "an unknown field": "1", "an unknown field that is null": "null" }),
  ...each("amount_minor", "unknown_field", { "a name from the proto": "4900" }),
  ...each("AmountMinor", "unknown_field", { "another case": "4900" }),
  ...each("amount", "unknown_field", { "an amount as an object": '{"value":4900,"currency":"EUR"}' }),
  ...each("__proto__", "unknown_field", { "a prototype": '{"currency":"USD"}' }),
  ...each("constructor", "unknown_field", { "a name every object has": "1" }),
  ...each("toString", "unknown_field", { "another name every object has": "1" }),
  ["a card number as a name", bodyWith({ "4242424242424242": "1" }), ["unknown_field "]],
  ["an empty name", bodyWith({ "": "1" }), ["unknown_field "]],
  ["a name that is 10 000 long", bodyWith({ ["n".repeat(10_000)]: "1" }), ["unknown_field "]],
  ["amountMinor twice", `{"amountMinor":1,${good.slice(1)}`, ["duplicate_field /amountMinor"]],
  ["currency twice, the same", `{"currency":"EUR",${good.slice(1)}`, ["duplicate_field /currency"]],
  ["orderRef twice, once escaped", `{"order\\u0052ef":"a",${good.slice(1)}`, ["duplicate_field /orderRef"]],
  [
    "customerEmail twice",
    bodyWith({ customerEmail: '"a@b.example","customerEmail":"c@d.example"' }),
    ["duplicate_field /customerEmail"],
  ],
  ["orderRef three times", `{"orderRef":"a","orderRef":"b",${good.slice(1)}`, ["duplicate_field /orderRef"]],
  ["an unknown field twice", bodyWith({ tip: '1,"tip":2' }), ["unknown_field /tip"]],
];

/** Bodies in which one member has a value that it cannot have. */
export const wrongValues: readonly BadBody[] = [
  ...each("amountMinor", "missing_field", { "left out": undefined }),
  ...each("amountMinor", "invalid_field", {
    zero: "0",
    "minus zero": "-0",
    "no cents": "0.00",
    null: "null",
    true: "true",
    false: "false",
    "an empty string": '""',
    "a decimal string": '"49.00"',
    "a hexadecimal string": '"0x10"',
    "a padded string": '" 4900 "',
    "an object": "{}",
    "a list": "[4900]",
    "a fraction": "49.5",
    "a small fraction": "4900.000000000000000001",
    "a fraction by exponent": "4900e-3",
    negative: "-1",
    "too large by one": "1000000000000",
    "2^53 + 1": "9007199254740993",
    "2^63": "9223372036854775808",
    "2^64": "18446744073709551616",
    "below all 64 bits": "-9223372036854775809",
    "a huge exponent": "1e400",
    "an exponent of a billion": "1e999999999",
    "a thousand digits": "9".repeat(1000),
  }),
  ...each("currency", "missing_field", { "left out": undefined, empty: '""' }),
  ...each("currency", "invalid_field", {
    null: "null",
    "a number": "978",
    "a list": '["EUR"]',
    "an object": '{"code":"EUR"}',
    "lower case": '"eur"',
    "mixed case": '"Eur"',
    "two letters": '"EU"',
    "four letters": '"EURO"',
    "a blank behind": '"EUR "',
    "a blank before": '" EUR"',
    "a line break behind": '"EUR\\n"',
    digits: '"978"',
    "a sign": '"€"',
    "full-width letters": '"ＥＵＲ"',
    "a Cyrillic letter": '"ЕUR"',
    "no currency": '"XXX"',
    "a test code": '"XTS"',
    gold: '"XAU"',
    silver: '"XAG"',
    platinum: '"XPT"',
    palladium: '"XPD"',
    "special drawing rights": '"XDR"',
    "a bond unit": '"XBA"',
    "a funds code": '"CHE"',
    "a unit of account": '"CLF"',
    "another day's dollar": '"USN"',
    "withdrawn: Deutsche Mark": '"DEM"',
    "withdrawn: kuna": '"HRK"',
    "withdrawn: leone": '"SLL"',
    "withdrawn: Zimbabwe dollar": '"ZWL"',
    "withdrawn: lev": '"BGN"',
    "no code at all": '"QQQ"',
    bitcoin: '"BTC"',
    NUL: '"EU\\u0000"',
  }),
  ...each("orderRef", "missing_field", { "left out": undefined, empty: '""' }),
  ...each("orderRef", "invalid_field", {
    null: "null",
    "a number": "1042",
    true: "true",
    "a list": '["a"]',
    blank: '"   "',
    "an ideographic space": '"\\u3000"',
    "a no-break space": '"\\u00a0"',
    "a byte order mark": '"\\ufeff"',
    "a line break": '"a\\nb"',
    "a tab": '"a\\tb"',
    NUL: '"a\\u0000b"',
    escape: '"\\u001b[31m"',
    delete: '"a\\u007f"',
    "a C1 control character": '"a\\u0085b"',
    "256 characters": `"${"x".repeat(256)}"`,
    "256 characters of two code units": `"${"😀".repeat(256)}"`,
    "a high surrogate": '"a\\ud83d"',
    "a low surrogate": '"\\ude00a"',
    "surrogates in the wrong order": '"\\ude00\\ud83d"',
  }),
  ...each("customerEmail", "invalid_field", {
    null: "null",
    "a number": "7",
    "an object": '{"address":"a@b.example"}',
    empty: '""',
    "no @": '"ada"',
    "two @": '"a@b@c.example"',
    "nothing before the @": '"@shop.example"',
    "nothing after the @": '"ada@"',
    "only an @": '"@"',
    "255 characters": `"${"a".repeat(241)}@shop.example.x"`,
    "a line break": '"ada\\n@shop.example"',
    NUL: '"ada\\u0000@shop.example"',
    "half a surrogate pair": '"ada\\ud800@shop.example"',
  }),
];

const home = { line1: '"Hauptstraße 1"', city: '"Berlin"', postalCode: '"10115"', country: '"DE"' };

/** A billing address with these members in place of, or beside, those of a good one. */
function addressWith(members: Readonly<Record<string, string | undefined>>): string {
  const all = Object.entries({ ...home, ...members }).filter(([, text]) => text !== undefined);
  return `{${all.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

const eachOfAddress = (member: string, code: string, values: Readonly<Record<string, string | undefined>>): BadBody[] =>
  Object.entries(values).map(([name, text]) => [
    `billingAddress.${member}: ${name}`,
    bodyWith({ billingAddress: addressWith({ [member]: text }) }),
    [`${code} /billingAddress/${member}`],
  ]);

const notText = { null: "null", "a number": "7", "a list": "[]" };
const notLine = {
  ...notText,
  blank: '"  "',
  "an ideographic space": '"\\u3000"',
  "a line break": '"a\\nb"',
  NUL: '"a\\u0000"',
};

/** Details of an order that break their rules. */
export const wrongDetails: readonly BadBody[] = [
  ...each("customerName", "invalid_field", {
    ...notLine,
    empty: '""',
    "101 characters": `"${"x".repeat(101)}"`,
    "half a surrogate pair": '"a\\ud800"',
  }),
  ...each("billingAddress", "invalid_field", { ...notText, "a text": '"Hauptstraße 1, Berlin"', true: "true" }),
  ...["line1", "city", "postalCode", "country"].flatMap((line) =>
    eachOfAddress(line, "missing_field", { "left out": undefined, empty: '""' }),
  ),
  ...["line1", "line2", "city", "postalCode", "region"].flatMap((line) =>
    eachOfAddress(line, "invalid_field", notLine),
  ),
  ...["line1", "line2"].flatMap((line) =>
    eachOfAddress(line, "invalid_field", { "201 characters": `"${"x".repeat(201)}"` }),
  ),
  ...["city", "region"].flatMap((line) =>
    eachOfAddress(line, "invalid_field", { "101 characters": `"${"x".repeat(101)}"` }),
  ),
  ...eachOfAddress("postalCode", "invalid_field", { "17 characters": `"${"1".repeat(17)}"` }),
  ...eachOfAddress("country", "invalid_field", {
    ...notText,
    "lower case": '"de"',
    "three letters": '"DEU"',
    "a name": '"Germany"',
    "no country": '"ZZ"',
    "a withdrawn code": '"DD"',
    "a union": '"EU"',
    "a reserved code": '"UK"',
  }),
  ...eachOfAddress("zip", "unknown_field", { "an unknown field": '"10115"' }),
  [
    "billingAddress: an empty object",
    bodyWith({ billingAddress: "{}" }),
    ["line1", "city", "postalCode", "country"].map((line) => `missing_field /billingAddress/${line}`),
  ],
  [
    "billingAddress: a line twice",
    bodyWith({ billingAddress: addressWith({}).replace("{", '{"line1":"a",') }),
    ["duplicate_field /billingAddress/line1"],
  ],
  ...each("metadata", "invalid_field", {
    ...notText,
    "a text": '"a=b"',
    "21 keys": JSON.stringify(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`key${index}`, "x"]))),
    "an empty key": '{"":"x"}',
    "a key with a space": '{"my key":"x"}',
    "a card number as a key with a sign": '{"4242424242424242%":"x"}',
  }),
  [
    "metadata: a key of 41",
    bodyWith({ metadata: `{"${"k".repeat(41)}":"x"}` }),
    [`invalid_field /metadata/${"k".repeat(41)}`],
  ],
  [
    "metadata: a key that every object has",
    bodyWith({ metadata: '{"__proto__":"x"}' }),
    ["invalid_field /metadata/__proto__"],
  ],
  ["metadata: a number", bodyWith({ metadata: '{"a":7}' }), ["invalid_field /metadata/a"]],
  ["metadata: null", bodyWith({ metadata: '{"a":null}' }), ["invalid_field /metadata/a"]],
  ["metadata: an object", bodyWith({ metadata: '{"a":{}}' }), ["invalid_field /metadata/a"]],
  ["metadata: 501 characters", bodyWith({ metadata: `{"a":"${"x".repeat(501)}"}` }), ["invalid_field /metadata/a"]],
  ["metadata: a line break", bodyWith({ metadata: '{"a":"x\\ny"}' }), ["invalid_field /metadata/a"]],
  ["metadata: NUL", bodyWith({ metadata: '{"a":"x\\u0000"}' }), ["invalid_field /metadata/a"]],
  ["metadata: a key twice", bodyWith({ metadata: '{"a":"x","a":"x"}' }), ["duplicate_field /metadata/a"]],
  ...each("statementDescriptor", "invalid_field", {
    ...notText,
    "four characters": '"Acme"',
    "23 characters": `"${"x".repeat(23)}"`,
    "digits alone": '"12345678"',
    "a blank before": '" Acme Books"',
    "a blank behind": '"Acme Books "',
    "two blanks": '"Acme  Books"',
    "an asterisk": '"Acme*Books"',
    "a quotation mark": '"Acme \\"Books\\""',
    "less and greater": '"<Acme>"',
    "a backslash": '"Acme\\\\Books"',
    "an apostrophe": '"Acme\'s Books"',
    "a comma": '"Acme, Books"',
    "an umlaut": '"Bücher"',
    "a line break": '"Acme\\nBooks"',
    "a currency sign": '"€ Books"',
  }),
];

export const severalProblems: readonly BadBody[] = [
  ["an empty object", "{}", ["missing_field /amountMinor", "missing_field /currency", "missing_field /orderRef"]],
  [
    "gold, and a blank reference",
    bodyWith({ currency: '"XAU"', orderRef: '" "' }),
    ["invalid_field /currency", "invalid_field /orderRef"],
  ],
  [
    "a withdrawn currency and too large an amount",
    bodyWith({ amountMinor: "1000000000000", currency: '"DEM"' }),
    ["invalid_field /amountMinor", "invalid_field /currency"],
  ],
  [
    "a blank reference without a currency",
    bodyWith({ currency: undefined, orderRef: '" "' }),
    ["missing_field /currency", "invalid_field /orderRef"],
  ],
  [
    "a numeric fraction, gold and an unknown field",
    bodyWith({ amountMinor: "0.5", currency: '"XAU"', tip: "1" }),
    ["invalid_field /amountMinor", "unknown_field /tip", "invalid_field /currency"],
  ],
  [
    "a duplicate and a blank reference",
    `{"amountMinor":1,${bodyWith({ orderRef: '" "' }).slice(1)}`,
    ["duplicate_field /amountMinor", "invalid_field /orderRef"],
  ],
  [
    "every field wrong",
    bodyWith({ amountMinor: "-1", currency: '"XTS"', orderRef: '"\\t"', customerEmail: '"@"' }),
    [
      "invalid_field /amountMinor",
      "invalid_field /orderRef",
      "invalid_field /customerEmail",
      "invalid_field /currency",
    ],
  ],
  [
    "every field of another type",
    '{"amountMinor":[],"currency":1,"orderRef":{},"customerEmail":false}',
    [
      "invalid_field /amountMinor",
      "invalid_field /currency",
      "invalid_field /orderRef",
      "invalid_field /customerEmail",
    ],
  ],
  [
    "an email without @ where the reference is missing",
    bodyWith({ orderRef: undefined, customerEmail: '"ada"' }),
    ["missing_field /orderRef", "invalid_field /customerEmail"],
  ],
  [
    "nulls everywhere",
    '{"amountMinor":null,"currency":null,"orderRef":null,"customerEmail":null}',
    [
      "invalid_field /amountMinor",
      "invalid_field /currency",
      "invalid_field /orderRef",
      "invalid_field /customerEmail",
    ],
  ],
];

/** Unusual but valid bodies: every spelling of a number that is the integer, every text that is no mistake. */
export const goodBodies: readonly (readonly [string, string])[] = [
  ["the smallest amount", bodyWith({ amountMinor: "1" })],
  ["the greatest amount", bodyWith({ amountMinor: "999999999999" })],
  ["a fraction of nothing", bodyWith({ amountMinor: "4900.0" })],
  ["an exponent", bodyWith({ amountMinor: "4.9e3" })],
  ["an exponent that takes zeros away", bodyWith({ amountMinor: "490000E-2" })],
  ["white space all over", ` { "amountMinor" :\t1 ,\r\n"currency":"EUR", "orderRef":"a" } `],
  ["escaped names", good.replace("currency", "\\u0063urrency")],
  ["255 characters of two code units", bodyWith({ orderRef: `"${"😀".repeat(255)}"` })],
  ["a surrogate pair by escapes", bodyWith({ orderRef: '"\\ud83d\\ude00"' })],
  ["blanks around a reference", bodyWith({ orderRef: '" a "' })],
  ["markup in a reference", bodyWith({ orderRef: '"<b>&amp;\'; --"' })],
  ["the longest email", bodyWith({ customerEmail: `"${"a".repeat(241)}@shop.example"` })],
  ["an email of other letters", bodyWith({ customerEmail: '"ада@пример.example"' })],
  [
    "every detail",
    bodyWith({
      customerName: '"Ada Lovelace"',
      billingAddress: addressWith({ line2: '"2nd floor"', region: '"BE"' }),
      metadata: '{"cart":"c-881","order.id:1":""}',
      statementDescriptor: '"Acme Books 24.7-x"',
    }),
  ],
  [
    "the longest details",
    bodyWith({
      customerName: `"${"😀".repeat(100)}"`,
      billingAddress: addressWith({ line1: `"${"x".repeat(200)}"`, postalCode: `"${"1".repeat(16)}"` }),
      metadata: JSON.stringify(
        Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}`.padEnd(40, "k"), "é".repeat(500)])),
      ),
      statementDescriptor: `"${"x".repeat(22)}"`,
    }),
  ],
  [
    "names of other letters",
    bodyWith({ customerName: "\"Ада 'Лавлейс'\"", billingAddress: addressWith({ city: '"東京"', country: '"JP"' }) }),
  ],
  ["metadata without keys", bodyWith({ metadata: "{}" })],
  ["a currency without decimals", bodyWith({ currency: '"JPY"' })],
  ["a currency of three decimals", bodyWith({ currency: '"KWD"' })],
];
