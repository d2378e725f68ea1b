import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { classifyDecline } from "../declines.ts";
import { declines } from "./declines.ts";

type Row = { code: string; match: string; class: string; never_retry?: boolean; same_data_fails?: boolean };

// An address check is the gateway's own, so another gateway may approve the same card (docs/declines.md).
const judgedOtherwise = new Set(["incorrect_address", "incorrect_zip"]);

describe("Stripe's decline table", () => {
  it("stops at a request for customer action, under every name that Stripe gives it", () => {
    for (const code of ["authentication_required", "authentication_not_handled"]) {
      expect(classifyDecline(declines, code)).toMatchObject({ stop: "authentication_required" });
    }
    const failed = { stop: "authentication_failed", declineCode: "authentication_failed" };
    expect(classifyDecline(declines, "payment_intent_authentication_failure")).toMatchObject(failed);
  });

  withShared<{ gateways: { stripe: { codes: readonly Row[] } } }>("declines", ({ gateways }) => {
    const rows = gateways.stripe.codes.filter(({ match }) => /^error\.(decline_)?code$/.test(match));

    it.each(rows)("judges $code at least as strictly as before", (row) => {
      const judged = classifyDecline(declines, row.code);
      expect(judged.declineCode).not.toBe("unclassified");
      expect(judged.kind === "FRAUD").toBe(row.class === "fraud");
      if (row.never_retry) expect(judged.stop).not.toBe("none");
      if (row.same_data_fails && !judgedOtherwise.has(row.code)) expect(judged.stop).toBe("same_card_fails");
      if (row.class === "authentication_required") expect(judged.stop).toMatch(/^authentication_/);
    });
  });
});
