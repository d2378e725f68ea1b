/** The payment of the API reference: one paid at the second gateway, on every page. */

const session = {
  sessionId: "ps_01m7yf98y0eht817q13cv6rysk",
  orderRef: "order-1042",
  amountMinor: 4900,
  currency: "EUR",
};
const firstConnection = "gc_01m7yf0pw2fqar9x1n7c5h8k2d";
const secondConnection = "gc_01m7yf12h4e6qs3v9r5t7w8y0z";

export const createRequest = {
  amountMinor: session.amountMinor,
  currency: session.currency,
  orderRef: session.orderRef,
  customerEmail: "ada@example.com",
  customerName: "Ada Lovelace",
  billingAddress: { line1: "Hauptstraße 1", city: "Berlin", postalCode: "10115", country: "DE" },
  metadata: { cart: "c-881" },
  statementDescriptor: "Acme Books",
};

export const createResponse = {
  sessionId: session.sessionId,
  clientSecret: `${session.sessionId}_secret_t1_0f3kq8vX2mPz7cRw9sLb4tNd6hJy1gAe5uKx`,
  status: "CREATED",
  expiresAt: "2026-03-02T10:30:00.000Z",
  vault: {
    mode: "self_hosted",
    sdkUrl: "https://vault.example.com/sdk.js",
    sdkAuthorization: "eyJhbGciOiJFZERTQSJ9…",
    framePolicy: "eyJhbGciOiJFZERTQSJ9…",
  },
  orderRef: session.orderRef,
  amountMinor: session.amountMinor,
  currency: session.currency,
};

const summary = {
  ...session,
  customerEmail: createRequest.customerEmail,
  customerName: createRequest.customerName,
  billingAddress: createRequest.billingAddress,
  metadata: createRequest.metadata,
  statementDescriptor: createRequest.statementDescriptor,
  status: "SUCCEEDED",
  failover: true,
  capturedVia: "SANDBOX_B",
  captureConfirmed: true,
  processing: false,
  capture: "automatic",
  card: { brand: "visa", last4: "0002" },
  createdAt: "2026-03-02T10:00:00.000Z",
  expiresAt: "2026-03-02T10:30:00.000Z",
  submittedAt: "2026-03-02T10:01:12.310Z",
  settledAt: "2026-03-02T10:01:12.884Z",
  routing: {
    ruleVersion: 3,
    plan: [
      { priority: 1, gateway: "SANDBOX_A", connectionId: firstConnection, authentication: "OWN" },
      { priority: 2, gateway: "SANDBOX_B", connectionId: secondConnection, authentication: "OWN" },
    ],
    skipped: [],
  },
};

export const sessionResponse = {
  ...summary,
  attempts: [
    {
      attemptId: "att_01m7yfagq1f3ns5w7x9z2b4c6d",
      sequence: 1,
      gateway: "SANDBOX_A",
      connectionId: firstConnection,
      priority: 1,
      because: "First of the plan of routing rule version 3.",
      status: "DECLINED",
      failureKind: "HARD_DECLINE",
      declineCode: "card_declined",
      gatewayCode: "do_not_honor",
      gatewayReference: "A-5521907",
      startedAt: "2026-03-02T10:01:12.341Z",
      completedAt: "2026-03-02T10:01:12.532Z",
      durationMs: 187,
      next: {
        action: "failover",
        because: "Routing rule version 3 fails over to SANDBOX_B after a hard decline.",
      },
    },
    {
      attemptId: "att_01m7yfagx8e2hq4t6v8y0a1c3e",
      sequence: 2,
      gateway: "SANDBOX_B",
      connectionId: secondConnection,
      priority: 2,
      because: "Routing rule version 3 fails over to SANDBOX_B after a hard decline.",
      status: "CAPTURED",
      gatewayReference: "B-88124",
      startedAt: "2026-03-02T10:01:12.548Z",
      completedAt: "2026-03-02T10:01:12.871Z",
      durationMs: 240,
    },
  ],
  authentications: [],
  amountCapturedMinor: 4900,
  refunds: [],
  amountRefundedMinor: 0,
  amountRefundableMinor: 4900,
};

export const captureRequest = { amountMinor: 900 };

const manual = { capture: "manual", captureBy: "2026-03-05T10:00:00.000Z" };

export const capturedResponse = {
  ...sessionResponse,
  ...manual,
  amountCapturedMinor: captureRequest.amountMinor,
  amountRefundableMinor: captureRequest.amountMinor,
};

const { capturedVia: _, captureConfirmed: __, ...uncaptured } = summary;

export const cancelledResponse = {
  ...uncaptured,
  ...manual,
  status: "DECLINED",
  failover: false,
  declineCode: "capture_cancelled",
  attempts: sessionResponse.attempts.map((attempt) =>
    attempt.status === "CAPTURED"
      ? {
          ...attempt,
          status: "VOIDED",
          next: { action: "stop", because: "The merchant cancelled the payment, so its hold is voided." },
        }
      : attempt,
  ),
  authentications: [],
  refunds: [],
};

export const createRefundRequest = { amountMinor: 900, reason: "requested_by_customer", refundRef: "return-77" };

export const refundResponse = {
  refundId: "ref_01m7zd2q5c9e3h7k1n5r8t2w4y",
  sessionId: summary.sessionId,
  orderRef: summary.orderRef,
  amountMinor: 900,
  currency: "EUR",
  status: "SUCCEEDED",
  reason: "requested_by_customer",
  refundRef: "return-77",
  gateway: "SANDBOX_B",
  gatewayReference: "B-R-4471",
  createdAt: "2026-03-04T09:12:44.120Z",
  completedAt: "2026-03-04T09:12:44.655Z",
};

export const paymentMethodResponse = {
  paymentMethodId: "pm_01m7yfb3k5m7p9r1t3v5x7z9b1",
  customerRef: "customer-17",
  card: { brand: "visa", last4: "4242", expMonth: 4, expYear: 2031 },
  expired: false,
  status: "ACTIVE",
  createdAt: "2026-03-02T10:01:13.204Z",
  lastUsedAt: "2026-03-02T10:01:13.204Z",
};

export const paymentMethodsResponse = { paymentMethods: [paymentMethodResponse] };

/** An agreement, without its charges. */
const agreementSummary = {
  agreementId: "agr_01m7yf98y0fht417q13cv6rysk",
  customerRef: paymentMethodResponse.customerRef,
  paymentMethodId: paymentMethodResponse.paymentMethodId,
  terms: {
    type: "RECURRING",
    text: "Acme Books charges 49.00 EUR each month until you cancel.",
    everyDays: 28,
    endsOn: "2031-03-02",
  },
  currency: "EUR",
  consentedAt: "2026-03-02T10:01:12.310Z",
  status: "ACTIVE",
};

/** The agreement with its charges, and the gateways' abilities. */
export const agreementResponse = {
  ...agreementSummary,
  gateways: [
    {
      connectionId: firstConnection,
      gateway: "SANDBOX_A",
      because: "SANDBOX_A continues only agreements that began in its account.",
    },
    { connectionId: secondConnection, gateway: "SANDBOX_B" },
  ],
  renewals: [
    {
      renewalRef: "2026-04",
      sessionId: "ps_01mahx2k4e6g8j0m2p4r6t8v0x",
      paidSessionId: "ps_01mahx2k4e6g8j0m2p4r6t8v0x",
      tries: 1,
    },
  ],
};

export const cancelledAgreementResponse = {
  ...agreementResponse,
  status: "CANCELLED",
  statusBecause: "merchant",
};

export const agreementsResponse = { agreements: [{ ...agreementSummary, gateways: [], renewals: [] }] };

export const setUpRequest = {
  customerRef: paymentMethodResponse.customerRef,
  currency: "EUR",
  saveCard: { agreement: agreementSummary.terms },
};

export const setUpResponse = {
  ...createResponse,
  orderRef: "setup",
  amountMinor: 0,
  agreementId: agreementSummary.agreementId,
};

export const disputeResponse = {
  disputeId: "dsp_01m7yf98y0ffn9t7q13cv6rysk",
  sessionId: summary.sessionId,
  orderRef: summary.orderRef,
  attemptId: sessionResponse.attempts.at(-1)!.attemptId,
  gateway: "SANDBOX_B",
  gatewayReference: "B-D-1077",
  stage: "CHARGEBACK",
  status: "NEEDS_RESPONSE",
  amountMinor: 4900,
  currency: "EUR",
  heldMinor: 4900,
  reason: "not_received",
  networkReasonCode: "13.1",
  network: "visa",
  respondBy: "2026-04-20T22:00:00.000Z",
  movements: [{ type: "CHARGEBACK", amountMinor: 4900, currency: "EUR", recordedAt: "2026-04-02T09:12:44.120Z" }],
  createdAt: "2026-04-02T09:12:44.118Z",
  updatedAt: "2026-04-02T09:12:44.118Z",
};

export const responseOptions = {
  accept: true,
  defenses: [
    {
      documentTypes: [
        { type: "receipt", required: false },
        { type: "uncategorized_file", required: false },
      ],
    },
  ],
  takesExplanation: true,
};

/** Base64 of `%PDF-1.4`: an example is no whole file. */
export const disputeFileRequest = { name: "receipt.pdf", contentType: "application/pdf", content: "JVBERi0xLjQ=" };

const file = {
  name: "receipt.pdf",
  sizeBytes: 8,
  sha256: "c3ad8a7f11b3a7b5c1f0a0c2d3bfa4b9d7d0f6a2a9d8c8e7f6a5b4c3d2e1f0a9",
};
export const disputeFileResponse = {
  fileId: "file_01m7yf98y0ffn9t7q13cv6rysk",
  contentType: "application/pdf",
  ...file,
};
export const disputeFactsResponse = {
  name: "payment-facts.pdf",
  contentType: "application/pdf",
  content: "JVBERi0xLjQ=",
};

export const evidenceRequest = {
  explanation: "The parcel was delivered and signed for on March 4.",
  shipping: { carrier: "DHL", trackingNumber: "00340434161094042557", shippedOn: "2026-03-02" },
  files: [
    { file: "facts", type: "uncategorized_file" },
    { file: disputeFileResponse.fileId, type: "receipt" },
  ],
};

const answered = {
  stage: "CHARGEBACK",
  status: "TAKEN",
  createdAt: "2026-04-03T10:00:00.000Z",
  answeredAt: "2026-04-03T10:00:01.200Z",
};
export const answeredDisputeResponse = {
  ...disputeResponse,
  status: "UNDER_REVIEW",
  responses: [{ type: "EVIDENCE", ...answered, documents: [{ type: "receipt", ...file }] }],
  updatedAt: "2026-04-03T10:00:01.400Z",
};
export const acceptedDisputeResponse = {
  ...disputeResponse,
  status: "ACCEPTED",
  responses: [{ type: "ACCEPT", ...answered }],
  updatedAt: "2026-04-03T10:00:01.400Z",
  closedAt: "2026-04-03T10:00:01.400Z",
};

/** The body of a charge without the customer. */
export const chargeRequest = { amountMinor: 4900, currency: "EUR", orderRef: "order-1107", renewalRef: "2026-04" };

export const chargeResponse = {
  ...sessionResponse,
  sessionId: agreementResponse.renewals[0]!.sessionId,
  orderRef: chargeRequest.orderRef,
  initiator: "MERCHANT",
  customerRef: paymentMethodResponse.customerRef,
  paymentMethodId: paymentMethodResponse.paymentMethodId,
  agreementId: agreementResponse.agreementId,
  renewalRef: chargeRequest.renewalRef,
};

export const recoveryLinkRequest = { ...chargeRequest, returnTo: "https://shop.example.com/account" };

export const recoveryLinkResponse = {
  url: "https://pay.example.com/recover#rl_01jq3v5x8re3gs6t7v9wxy2z4c_t1_1_NX9rnLTnD4R0mYdLJ4qvUqTgQ2dDPu0JhpB7nq9y2oE",
  expiresAt: "2026-04-11T08:15:30.000Z",
};

export const eventsResponse = {
  events: [
    {
      eventId: "evt_01kn8xjk3efqs9m4q9w6m3v0q2",
      type: "payment_session.succeeded",
      merchantId: "mer_01h455vb4pex5vsknk084sn02q",
      sessionId: summary.sessionId,
      sequence: 1,
      occurredAt: "2026-03-04T08:15:32.204Z",
      body: `{"id":"evt_01kn8xjk3efqs9m4q9w6m3v0q2","type":"payment_session.succeeded","timestamp":"2026-03-04T08:15:32.204Z","environment":"test","data":{"sequence":1,"sessionId":"${summary.sessionId}","status":"SUCCEEDED"}}`,
    },
  ],
  nextCursor: "AQGcO1p0b2X4bQGaRrCYpfubuIi3fO-YVwGc0dTQ4W2Zsmjunhj6HgEa",
  caughtUp: true,
};

export const ledgerResponse = {
  entries: [
    {
      type: "CAPTURED",
      recordedAt: "2026-03-04T08:15:32.204Z",
      sessionId: summary.sessionId,
      attemptId: sessionResponse.attempts.at(-1)?.attemptId,
      orderRef: summary.orderRef,
      amountMinor: 4900,
      currency: "EUR",
      gateway: "SANDBOX_B",
      gatewayReference: "B-P-8120",
    },
    {
      type: "REFUNDED",
      recordedAt: refundResponse.completedAt,
      sessionId: summary.sessionId,
      attemptId: sessionResponse.attempts.at(-1)?.attemptId,
      refundId: refundResponse.refundId,
      orderRef: summary.orderRef,
      amountMinor: 900,
      currency: "EUR",
      gateway: "SANDBOX_B",
      gatewayReference: refundResponse.gatewayReference,
    },
  ],
};

export const payoutResponse = {
  payoutId: "pout_01jnfq3h2mex5s5n4v0t7r8k9c",
  gateway: "SANDBOX_B",
  connectionId: "gc_01jnfq0c5bexg9k3w2m7y4t8dn",
  gatewayReference: "12",
  status: "PAID",
  amountMinor: 4806,
  currency: "EUR",
  arrivesOn: "2026-03-05",
  remainderMinor: 0,
  completeAt: "2026-03-05T04:00:12.431Z",
};

const [captureEntry, refundEntry] = ledgerResponse.entries;

export const payoutLinesResponse = {
  lines: [
    {
      kind: "CAPTURE",
      status: "MATCHED",
      grossMinor: 4900,
      currency: "EUR",
      settledGrossMinor: 4900,
      feeMinor: 94,
      netMinor: 4806,
      settlementCurrency: "EUR",
      gatewayType: "Settled",
      gatewayReference: "B-P-8120",
      sessionId: summary.sessionId,
      entryType: "CAPTURED",
      entryId: captureEntry?.attemptId,
      payoutId: payoutResponse.payoutId,
      gateway: "SANDBOX_B",
      connectionId: payoutResponse.connectionId,
      recordedAt: "2026-03-05T04:00:11.905Z",
    },
  ],
};

export const settlementsResponse = {
  settlements: [
    {
      entry: captureEntry,
      state: "PAID",
      payoutId: payoutResponse.payoutId,
      feeMinor: 94,
      netMinor: 4806,
      settlementCurrency: "EUR",
    },
    { entry: refundEntry, state: "OPEN", ageDays: 1, reason: "not_due" },
  ],
};

export const listResponse = {
  paymentSessions: [summary],
  nextPageToken: "eyJjcmVhdGVkQmVmb3JlIjoiMjAyNi0wMy0wMiJ9.c2lnbmVk",
};

export const metaResponse = { service: "switchyard", time: "2026-03-02T10:00:00.000Z", version: "1.0.0" };
