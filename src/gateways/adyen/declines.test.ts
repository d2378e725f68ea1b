import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { classifyDecline } from "../declines.ts";
import { codeOfReason, declines, reasonNames } from "./declines.ts";

type Row = {
  code: string;
  name?: string;
  match: string;
  class: string;
  outcome: string;
  never_retry?: boolean;
  same_data_fails?: boolean;
};

// An address check is the gateway's own, so another gateway may approve the same card (docs/declines.md).
const judgedOtherwise = new Set(["32"]);

describe("Adyen's decline table", () => {
  it("has a name for every code, which notifications give instead of the number", () => {
    const codes = Object.keys(declines).filter((code) => /^\d+$/.test(code));
    const advice =
      "a code of `declines` needs its name in `reasonNames`, further down in the same file, and the other way round";
    expect(Object.keys(reasonNames), advice).toEqual(codes);
    for (const [code, name] of Object.entries(reasonNames)) expect(codeOfReason(name)).toBe(code);
  });

  withShared<{ gateways: { adyen: { codes: readonly Row[] } } }>("declines", ({ gateways }) => {
    const rows = gateways.adyen.codes.filter(({ match, code }) => match === "refusalReasonCode" && code !== "0");

    it.each(rows)("judges $code, $name, at least as strictly as before", (row) => {
      const judged = classifyDecline(declines, row.code);
      expect(judged.declineCode).not.toBe("unclassified");
      expect(codeOfReason(row.name ?? "")).toBe(row.code);
      expect(judged.kind === "FRAUD").toBe(row.class === "fraud");
      if (row.never_retry) expect(judged.stop).not.toBe("none");
      if (row.same_data_fails && !judgedOtherwise.has(row.code)) expect(judged.stop).toBe("same_card_fails");
      if (row.class === "authentication_required") expect(judged.stop).toMatch(/^authentication_/);
    });
  });
});
