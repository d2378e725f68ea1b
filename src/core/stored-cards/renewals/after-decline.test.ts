import { describe, expect, it } from "vitest";
import { type AfterDecline, afterDecline } from "./after-decline.ts";

const plain = { stop: "none", declineCode: "card_declined" } as const;
const never = { stop: "scheme_rule", declineCode: "card_declined" } as const;

const notBefore = (hours: number): AfterDecline => ({ type: "notBefore", hours });

describe("afterDecline()", () => {
  it.each<[string, AfterDecline]>([
    ...["04", "07", "14", "41", "43", "46"].map((code): [string, AfterDecline] => [code, { type: "cardStopped" }]),
    ["R0", { type: "customerNeeded" }],
    ["1A", { type: "customerNeeded" }],
    ["R1", { type: "agreementCancelled" }],
    ["R3", { type: "allAgreementsCancelled" }],
    ["54", { type: "needsCard" }],
    ["12", notBefore(720)],
    ["15", notBefore(720)],
    ["57", notBefore(720)],
    ["05", { type: "mayRetry" }],
    ["51", { type: "mayRetry" }],
  ])("takes Visa's %s", (networkDeclineCode, expected) => {
    expect(afterDecline("visa", { ...plain, networkDeclineCode })).toEqual(expected);
  });

  it.each<[string, AfterDecline]>([
    ...["03", "40", "41", "43"].map((code): [string, AfterDecline] => [code, { type: "cardStopped" }]),
    ["21", { type: "agreementCancelled" }],
    ["01", { type: "needsCard" }],
    ["02", notBefore(72)],
    ["24", notBefore(1)],
    ["25", notBefore(24)],
    ["26", notBefore(48)],
    ["27", notBefore(96)],
    ["28", notBefore(144)],
    ["29", notBefore(192)],
    ["30", notBefore(240)],
    ["22", { type: "mayRetry" }],
  ])("takes Mastercard's advice %s", (adviceCode, expected) => {
    expect(afterDecline("mastercard", { ...plain, adviceCode })).toEqual(expected);
  });

  it("lets only the customer pay after Mastercard's response code 65", () => {
    expect(afterDecline("mastercard", { ...plain, networkDeclineCode: "65" })).toEqual({ type: "customerNeeded" });
  });

  it("takes a network's code before the stop of the gateway's row, which the same code has set", () => {
    expect(afterDecline("visa", { ...never, networkDeclineCode: "57" })).toEqual(notBefore(720));
    expect(afterDecline("visa", { ...never, networkDeclineCode: "R1" })).toEqual({ type: "agreementCancelled" });
    expect(afterDecline("mastercard", { ...never, adviceCode: "25" })).toEqual(notBefore(24));
  });

  it("takes no network's code for another network's card", () => {
    expect(afterDecline("mastercard", { ...plain, networkDeclineCode: "14" })).toEqual({ type: "mayRetry" });
    expect(afterDecline("visa", { ...plain, adviceCode: "03" })).toEqual({ type: "mayRetry" });
    expect(afterDecline("amex", { ...plain, networkDeclineCode: "14", adviceCode: "03" })).toEqual({
      type: "mayRetry",
    });
  });

  it.each<[Parameters<typeof afterDecline>[1], AfterDecline["type"]]>([
    [never, "cardStopped"],
    [{ stop: "none", declineCode: "lost_or_stolen" }, "cardStopped"],
    [{ stop: "same_card_fails", declineCode: "card_expired" }, "needsCard"],
    [{ stop: "fraud", declineCode: "fraud_suspected" }, "customerNeeded"],
    [{ stop: "authentication_required", declineCode: "authentication_required" }, "customerNeeded"],
    [{ stop: "authentication_failed", declineCode: "authentication_failed" }, "customerNeeded"],
    [{ stop: "unclassified", declineCode: "unclassified" }, "mayRetry"],
    [{ stop: "none", declineCode: "insufficient_funds" }, "mayRetry"],
  ])("takes the row of a decline without a network's code: %o", (declined, type) => {
    expect(afterDecline("visa", declined)).toEqual({ type });
    expect(afterDecline("unknown", declined)).toEqual({ type });
  });

  it("takes no code that an object has by nature", () => {
    expect(afterDecline("visa", { ...plain, networkDeclineCode: "constructor" })).toEqual({ type: "mayRetry" });
  });
});
