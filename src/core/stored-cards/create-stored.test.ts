import { describe, expect, it } from "vitest";
import { agreementIdOf, findUnstorable, type StoringOrder, storingFingerprint } from "./create-stored.ts";

const now = new Date("2026-03-02T23:59:00Z");
const customerRef = "customer-1";
const terms = { type: "RECURRING", text: "x", everyDays: 28, endsOn: "2026-03-02" } as const;
const withTerms = (agreement: Record<string, unknown>): StoringOrder => ({
  customerRef,
  saveCard: { agreement: { ...terms, ...agreement } },
});
const problemsOf = (order: StoringOrder) => findUnstorable(order, now).map(({ param, detail }) => `${param} ${detail}`);

describe("findUnstorable()", () => {
  it.each<[string, StoringOrder]>([
    ["a customer alone", { customerRef }],
    ["a card for its customer", { customerRef, saveCard: {}, storedCardSecurityCode: "skip" }],
    ["an agreement whose last day is not over", withTerms({})],
    ["an agreement without times", withTerms({ type: "UNSCHEDULED", everyDays: undefined, endsOn: undefined })],
    ["instalments", withTerms({ type: "INSTALMENT", instalments: 3 })],
  ])("accepts %s", (_, order) => expect(problemsOf(order)).toEqual([]));

  it.each<[string, StoringOrder, string[]]>([
    [
      "a card without a customer",
      { saveCard: {} },
      ["customerRef is needed for what the session does with stored cards"],
    ],
    ["a blank customer", { customerRef: " " }, ["customerRef must not be blank"]],
    [
      "a code without a customer",
      { storedCardSecurityCode: "skip" },
      ["customerRef is needed for what the session does with stored cards"],
    ],
    [
      "times that lack",
      withTerms({ everyDays: undefined, endsOn: undefined }),
      [
        "saveCard.agreement.everyDays is required, unless the type is UNSCHEDULED",
        "saveCard.agreement.endsOn is required, unless the type is UNSCHEDULED",
      ],
    ],
    [
      "instalments without a number",
      withTerms({ type: "INSTALMENT" }),
      ["saveCard.agreement.instalments is required where the type is INSTALMENT"],
    ],
    [
      "a number of other charges",
      withTerms({ instalments: 3 }),
      ["saveCard.agreement.instalments must be absent, unless the type is INSTALMENT"],
    ],
    [
      "a day that is over",
      withTerms({ endsOn: "2026-03-01" }),
      ["saveCard.agreement.endsOn must be a day that is not over, in UTC"],
    ],
    [
      "a day that does not exist",
      withTerms({ endsOn: "2027-02-29" }),
      ["saveCard.agreement.endsOn must be a day that is not over, in UTC"],
    ],
  ])("refuses %s", (_, order, problems) => expect(problemsOf(order)).toEqual(problems));

  it("names the field in the body by its path", () => {
    const [problem] = findUnstorable(withTerms({ instalments: 3 }), now);
    expect(problem!.pointer).toBe("/saveCard/agreement/instalments");
  });
});

describe("agreementIdOf()", () => {
  const sessionId = "019caddc-36c0-7a5e-9c1d-53b0f2d6e401";
  it("names the agreement of a session, always the same, and of no other session", () => {
    const of = (id: string) => agreementIdOf(id, withTerms({}));
    expect(of(sessionId)).toBe(of(sessionId));
    expect(of("019caddc-36c0-7a5e-9c1d-53b0f2d6e402")).not.toBe(of(sessionId));
    expect(agreementIdOf(sessionId, { customerRef, saveCard: {} })).toBeUndefined();
  });
});

describe("storingFingerprint()", () => {
  it("tells requests apart, whatever the order of their fields", () => {
    const { type, text, everyDays, endsOn } = terms;
    const turned = { customerRef, saveCard: { agreement: { endsOn, everyDays, text, type } } };
    expect(JSON.stringify(storingFingerprint(turned))).toBe(JSON.stringify(storingFingerprint(withTerms({}))));
    const others = [
      { customerRef },
      { customerRef, saveCard: {} },
      withTerms({ text: "y" }),
      { customerRef, storedCardSecurityCode: "skip" },
    ];
    const texts = [withTerms({}), ...others].map((order) => JSON.stringify(storingFingerprint(order)));
    expect(new Set(texts).size).toBe(texts.length);
    expect(storingFingerprint({})).toBeUndefined();
  });
});
