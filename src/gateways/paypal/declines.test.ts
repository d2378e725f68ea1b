import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { classifyDecline } from "../declines.ts";
import { declines } from "./declines.ts";

type Row = { code: string; match: string; class: string; never_retry?: boolean; same_data_fails?: boolean };
type Enumeration = {
  components: { schemas: { processor_response: { properties: { response_code: { enum: string[] } } } } };
};

// An address check is PayPal's or its processor's own, so another gateway may approve the same card (docs/declines.md).
const judgedOtherwise = new Set(["5170", "PPAD", "PPAV"]);

// The processor's codes for an approved payment: in full, in part or without its capture.
const approvals = ["0000", "1000", "7600"];

describe("PayPal's decline table", () => {
  it("has no row for an approval, and stops at every fraud", () => {
    expect(approvals.filter((code) => Object.hasOwn(declines, code))).toEqual([]);
    const judged = Object.keys(declines).map((code) => classifyDecline(declines, code));
    const frauds = judged.filter(({ kind }) => kind === "FRAUD");
    expect(frauds.length).toBeGreaterThan(0);
    expect(frauds.filter(({ stop }) => stop !== "fraud")).toEqual([]);
  });

  withShared<Enumeration>("paypal-orders", ({ components }) => {
    it("has a row for every code that PayPal documents, and for none of its approvals", () => {
      const documented = components.schemas.processor_response.properties.response_code.enum;
      expect(documented.filter((code) => !Object.hasOwn(declines, code))).toEqual(approvals);
    });
  });

  withShared<{ gateways: { paypal: { codes: readonly Row[] } } }>("declines", ({ gateways }) => {
    const rows = gateways.paypal.codes.filter(
      (row) => row.match === "processor_response.response_code" && row.class !== "approved",
    );

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
