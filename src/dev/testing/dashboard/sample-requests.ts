/** Requests that pass validation, for tests that call every rpc. They refer to nothing that exists. */
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";

/** Returns the fields beside the scope that a request needs to pass validation. */
export function restOf(method: DescMethod): Record<string, JsonValue> {
  const values: Record<string, JsonValue> = {
    kind: method.name.endsWith("ApiKey")
      ? "SECRET"
      : method.name.endsWith("WalletKey")
        ? "WALLET_KEY_KIND_GOOGLE"
        : "GIVEN_UP",
    countryCode: "DE",
    recipient: "BCR2DN4T263K6XYZ",
    origin: "https://shop.example.com",
    keyId: "key_01h455vb4pex5vsknk084sn02q",
    oldKeySeconds: 3600,
    rights: ["sessions.read"],
    gateway: "SANDBOX_A",
    account: "mine",
    connectionId: "gc_01h455vb4pex5vsknk084sn02q",
    connectionIds: ["gc_01h455vb4pex5vsknk084sn02q"],
    endpointId: "we_01h455vb4pex5vsknk084sn02q",
    url: "https://shop.example.com/webhooks",
    workItemId: "wi_01h455vb4pex5vsknk084sn02q",
    alertId: "ntc_01h455vb4pex5vsknk084sn02q",
    note: "looked at",
    desired: {},
    policy: {},
    approvalId: "apv_01h455vb4pex5vsknk084sn02q",
    ...(method.name === "SetApprovalPolicy" && { revision: "r" }),
    email: "ada@example.com",
    paymentMethodId: "pm_01h455vb4pex5vsknk084sn02q",
    agreementId: "agr_01h455vb4pex5vsknk084sn02q",
    // Other requests name a customer by one of several fields.
    ...(method.name === "GetStoredCards" && { customerRef: "customer-7" }),
    entryId: "blk_01h455vb4pex5vsknk084sn02q",
    role: method.name === "SetRefundLimits" ? "ROLE_OWNER" : "ROLE_VIEWER",
    liveRole: "ROLE_VIEWER",
    memberId: "mbr_01h455vb4pex5vsknk084sn02q",
    providerId: "corp",
    issuer: "https://login.example.com",
    isBreakGlass: true,
    invitationId: "inv_01h455vb4pex5vsknk084sn02q",
    name: "Tea House",
    newPassword: "another good horse",
    code: "123456",
    password: "x",
    signInId: "sgn_01h455vb4pex5vsknk084sn02q",
    eventId: "evt_01h455vb4pex5vsknk084sn02q",
    day: "2026-01-01",
    firstDay: "2026-01-01",
    lastDay: "2026-01-02",
    timeZone: "UTC",
    passkeyId: "AAAA",
    credential: "{}",
    sessionLifetimeSeconds: 900,
    hold: "NONE",
    repeatedOrders: "REPEATED_ORDERS_WARN",
    toCell: 1,
    since: "2026-01-01T00:00:00Z",
    sessionId: "ps_01h455vb4pex5vsknk084sn02q",
    id: "01890a5d-ac96-774b-bcce-b302099a8057",
    attemptId: "att_01h455vb4pex5vsknk084sn02q",
    // The reason of a refund is one of a list.
    reason: method.name === "RefundPayment" ? "duplicate" : "looked at",
    idempotencyKey: "return-1",
    disputeId: "dsp_01h455vb4pex5vsknk084sn02q",
    file: { name: "receipt.pdf", contentType: "application/pdf", content: "JVBERi0xLjQ=" },
    evidence: { explanation: "It was delivered." },
    refundId: "ref_01h455vb4pex5vsknk084sn02q",
    payoutId: "pout_01h455vb4pex5vsknk084sn02q",
    decision: "NEVER_MADE",
    text: "order-1042",
    version: 1,
    amountMinor: 4900,
    currency: "EUR",
    draft: { connectionIds: ["gc_01h455vb4pex5vsknk084sn02q"] },
  };
  const names = method.input.fields.map(({ jsonName }) => jsonName);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}
