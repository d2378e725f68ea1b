import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import {
  isKeptError,
  isUnroutable,
  readAuthenticated,
  readAuthorize,
  readCapture,
  readCompletion,
  readVoid,
} from "./answers.ts";

type Json = Readonly<Record<string, unknown>>;

const attempt = { attemptReference: "att_1", amountMinor: 2000, currency: "EUR" };
const ours = { merchantReference: "att_1", amount: { currency: "EUR", value: 2000 } };

describe("readAuthorize()", () => {
  const outcome = (body: object) => readAuthorize(reply({ pspReference: "PSP", ...ours, ...body }), attempt);

  it("treats only Authorised as a hold", () => {
    expect(outcome({ resultCode: "Authorised" })).toEqual({ type: "held", gatewayReference: "PSP" });
    expect(outcome({ resultCode: "Authorised", pspReference: undefined })).toMatchObject({ type: "unknown" });
    expect(outcome({ resultCode: "Authorised", merchantReference: undefined })).toMatchObject({ type: "unknown" });
  });

  it.each([
    "Received",
    "Pending",
    "PartiallyAuthorised",
    "PresentToShopper",
    "AuthenticationFinished",
    "AuthenticationNotRequired",
    "Success",
    "authorised",
    undefined,
    7,
  ])("treats %s as unknown and keeps the payment's reference, by which it is voided", (resultCode) => {
    expect(outcome({ resultCode })).toMatchObject({ type: "unknown", gatewayReference: "PSP" });
  });

  it("takes a redirect for an action, also one that is posted and one without our reference", () => {
    const action = { type: "redirect", method: "POST", url: "https://bank.example/", data: { PaReq: "x", n: 1 } };
    const needed = { type: "actionNeeded", action: { url: action.url, method: "POST", fields: { PaReq: "x" } } };
    expect(outcome({ resultCode: "RedirectShopper", action })).toEqual(needed);
    expect(readAuthorize(reply({ resultCode: "RedirectShopper", action }), attempt)).toEqual(needed);
    const others = outcome({ resultCode: "RedirectShopper", action, merchantReference: "att_2" });
    expect(others).toMatchObject({ type: "unknown" });
  });

  it.each([
    ["IdentifyShopper", {}],
    ["ChallengeShopper", {}],
    ["RedirectShopper", undefined],
    ["RedirectShopper", { type: "threeDS2", url: "https://bank.example/", method: "GET" }],
    ["RedirectShopper", { type: "redirect", url: "https://bank.example/", method: "PUT" }],
    ["RedirectShopper", { type: "redirect", url: "javascript:alert(1)", method: "GET" }],
    ["RedirectShopper", { type: "redirect", method: "GET" }],
  ])("leaves %s with the action %j open, which no customer is shown", (resultCode, action) => {
    expect(outcome({ resultCode, action })).toMatchObject({ type: "unknown", isAnswered: true });
    expect(outcome({ resultCode, action })).not.toHaveProperty("gatewayReference");
  });

  it.each([
    [
      { resultCode: "Refused", refusalReasonCode: "12" },
      { gatewayCode: "12", declineCode: "insufficient_funds" },
    ],
    [
      { resultCode: "Refused", refusalReason: "FRAUD" },
      { gatewayCode: "20", stop: "fraud" },
    ],
    [{ resultCode: "Refused" }, { stop: "unclassified" }],
    [{ resultCode: "Refused", refusalReasonCode: "" }, { stop: "unclassified" }],
    [
      { resultCode: "Error", refusalReasonCode: "4" },
      { kind: "SOFT_DECLINE", stop: "none" },
    ],
    [{ resultCode: "Error" }, { stop: "unclassified" }],
    [{ resultCode: "Cancelled" }, { kind: "HARD_DECLINE", gatewayCode: "15" }],
    [
      {
        resultCode: "Refused",
        refusalReasonCode: "2",
        paymentMethod: { brand: "mc", type: "scheme" },
        additionalData: { merchantAdviceCode: "03 : Do not try again" },
      },
      { gatewayCode: "2", stop: "scheme_rule" },
    ],
  ])("treats %j as a decline", (body, expected) => {
    expect(outcome(body)).toMatchObject({ type: "declined", ...expected });
    expect(outcome({ ...body, merchantReference: undefined })).toMatchObject({ type: "unknown" });
  });

  const error = (status: number, change: object = {}, headers = {}) =>
    readAuthorize(reply({ status, errorCode: "905", errorType: "configuration", ...change }, status, headers), attempt);

  it("takes no refusal of a completing request for an answer, unless the same request may succeed", () => {
    const completed = (status: number, change: object = {}, headers = {}) =>
      readCompletion(
        reply({ status, errorCode: "00_403", errorType: "security", ...change }, status, headers),
        attempt,
      );
    for (const status of [400, 401, 403, 404, 413, 422]) {
      expect(completed(status), `${status}`).toEqual({ type: "notAnswered" });
      expect(completed(status, { status: undefined }), `${status} of a firewall`).toEqual({ type: "notAnswered" });
    }
    const transient = { "transient-error": "true" };
    expect(completed(422, { errorType: "validation" }, transient)).toMatchObject({ type: "unknown" });
    expect(completed(422, { errorType: "validation", errorCode: "704" })).toMatchObject({ type: "unknown" });
    for (const status of [408, 429, 500, 503])
      expect(completed(status), `${status}`).toMatchObject({ type: "unknown" });
  });

  it("treats an error that Adyen calls transient as not processed, unless the same key is still in progress", () => {
    const transient = { "transient-error": "true" };
    expect(error(500, {}, transient)).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    expect(error(500)).toMatchObject({ type: "unknown" });
    expect(error(422, { errorCode: "704", errorType: "validation" }, transient)).toMatchObject({ type: "unknown" });
    expect(error(422, { errorCode: "704", errorType: "validation" })).toMatchObject({ type: "unknown" });
  });

  it.each([
    ["101", "incorrect_number"],
    ["102", "incorrect_number"],
    ["103", "incorrect_cvc"],
    ["129", "card_expired"],
    ["140", "card_expired"],
    ["141", "card_expired"],
    ["153", "incorrect_cvc"],
  ])("treats error %s as a decline of a card that no gateway accepts", (errorCode, declineCode) => {
    expect(error(422, { errorCode, errorType: "validation" })).toEqual({
      type: "declined",
      kind: "HARD_DECLINE",
      stop: "same_card_fails",
      declineCode,
      gatewayCode: `error.${errorCode}`,
    });
    expect(error(422, { errorCode, errorType: "internal" })).toMatchObject({ type: "unknown" });
    expect(error(500, { errorCode, errorType: "validation" })).toMatchObject({ type: "unknown" });
  });

  it("does not count a pending decision or a key in use against the gateway's health", () => {
    for (const resultCode of ["Received", "Pending", "PartiallyAuthorised"]) {
      expect(outcome({ resultCode })).toMatchObject({ type: "unknown", isAnswered: true });
    }
    expect(error(422, { errorCode: "704", errorType: "validation" })).toMatchObject({ isAnswered: true });
    expect(outcome({ resultCode: undefined })).not.toHaveProperty("isAnswered");
    expect(error(500)).not.toHaveProperty("isAnswered");
    expect(error(429, { errorType: "validation" })).not.toHaveProperty("isAnswered");
  });

  it("does not trust a refusal that Adyen calls internal, nor one under another status", () => {
    expect(error(422, { errorType: "validation" })).toMatchObject({ type: "notProcessed", cause: "request_refused" });
    expect(error(422, { errorType: "internal" })).toMatchObject({ type: "unknown" });
    expect(error(422, { status: 400 })).toMatchObject({ type: "unknown" });
    expect(error(429, { errorType: "validation" })).toMatchObject({ type: "unknown" });
  });
});

describe("readAuthenticated()", () => {
  const said = (additionalData?: object) => readAuthenticated(reply({ resultCode: "Authorised", additionalData }));

  it("keeps what the account asks Adyen to say, and never the cryptogram", () => {
    const fields = { eci: "05", threeDSVersion: "2.2.0", threeDAuthenticatedResponse: "Y", dsTransID: "ds-1" };
    expect(said({ ...fields, liabilityShift: "true", cavv: "AAABBB", cavvAlgorithm: "3" })).toEqual({
      version: "2.2.0",
      transStatus: "Y",
      eci: "05",
      dsTransactionId: "ds-1",
      liability: "ISSUER",
    });
    expect(said({ liabilityShift: "false" })).toMatchObject({ liability: "MERCHANT" });
    // As in the example `post-payments-split-balanceplatform-200` of the OpenAPI file.
    const none = { eci: "N/A", threeDAuthenticatedResponse: "N/A", threeDOffered: "false", dsTransID: "x".repeat(65) };
    expect(said(none)).toBeUndefined();
    expect(said({ eci: 5 })).toBeUndefined();
    expect(said()).toBeUndefined();
  });
});

withShared<{ components: { examples: Record<string, { value: Json }> } }>("adyen", ({ components }) => {
  const example = (name: string, change: object = {}) => ({ ...components.examples[name]!.value, ...change });

  describe("Adyen's own examples, read as answers,", () => {
    it("are a hold, a redirect and an action of another shape", () => {
      const held = example("post-payments-card-direct-200", { merchantReference: "att_1" });
      expect(readAuthorize(reply(held), attempt)).toEqual({ type: "held", gatewayReference: held.pspReference });
      expect(readAuthorize(reply(example("post-payments-card-direct-200")), attempt)).toMatchObject({
        type: "unknown",
      });
      const outcomeOf = (name: string) => readAuthorize(reply(example(name)), attempt);
      expect(outcomeOf("post-payments-card-3d-secure-redirect-200")).toMatchObject({
        type: "actionNeeded",
        action: { method: "GET", url: expect.stringContaining("/threeDS/redirect") },
      });
      expect(outcomeOf("post-payments-card-3d-secure-2-web-200")).toMatchObject({ type: "unknown" });
    });

    it.each([
      [400, { type: "notProcessed", cause: "request_refused" }],
      [401, { type: "notProcessed", cause: "credentials_refused" }],
      [403, { type: "notProcessed", cause: "credentials_refused" }],
      [422, { type: "notProcessed", cause: "request_refused" }],
      [500, { type: "unknown", kind: "GATEWAY_ERROR" }],
    ])("are errors under %d", (status, expected) => {
      const answer = reply(example(`generic-${status}`), status);
      expect(readAuthorize(answer, attempt)).toMatchObject(expected);
      expect(isKeptError(answer)).toBe(true);
      expect(isUnroutable(answer)).toBe(status === 500);
      const settling = status === 500 ? { type: "unknown" } : { type: "refused", definitive: false };
      expect(readVoid(answer, attempt)).toMatchObject(settling);
    });

    const named = { ...attempt, gatewayReference: "993617894903480A" };
    const reference = "att_1";

    it("are an accepted capture of exactly our payment and amount", () => {
      const captured = example("post-payments-paymentPspReference-captures-capture-201", { reference });
      const read = (change: object, status = 201) => readCapture(reply({ ...captured, ...change }, status), named);
      expect(read({})).toEqual({ type: "accepted", captureReference: captured.pspReference });
      for (const change of [
        { reference: "att_2" },
        { paymentPspReference: "other" },
        { status: "done" },
        { amount: { value: 1999, currency: "EUR" } },
        { amount: undefined },
      ]) {
        expect(read(change)).toMatchObject({ type: "unknown" });
      }
      expect(read({}, 200)).toMatchObject({ type: "unknown" });
    });

    it("are an accepted cancellation, by either name", () => {
      const byName = example("post-payments-paymentPspReference-cancels-cancel-with-psp-reference-201", { reference });
      expect(readVoid(reply(byName, 201), named)).toEqual({ type: "accepted" });
      expect(readVoid(reply(byName, 201), attempt)).toMatchObject({ type: "unknown" });
      const ours = { reference, paymentReference: reference };
      const byReference = example("post-cancels-cancel-with-own-reference-201", ours);
      expect(readVoid(reply(byReference, 201), attempt)).toEqual({ type: "accepted" });
      expect(readVoid(reply({ ...byReference, paymentReference: "att_2" }, 201), attempt)).toMatchObject({
        type: "unknown",
      });
    });

    it("report a payment as absent only when it was requested by our own reference", () => {
      const missing = reply(example("generic-422", { errorCode: "167" }), 422);
      expect(readVoid(missing, attempt)).toEqual({ type: "absent" });
      expect(readVoid(missing, named)).toMatchObject({ type: "refused", definitive: false });
      expect(readCapture(missing, named)).toMatchObject({ type: "refused", definitive: false });
    });
  });
});
