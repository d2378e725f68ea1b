/** Answers to disputes as each gateway takes them, at its emulator and against its own files. */
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../dev/testing/gateway-harness.ts";
import type { CapturedPayment } from "./connector.ts";
import type { Evidence } from "./dispute-answers.ts";
import { disputeCards } from "./sandbox/dispute-cards.ts";
import { subjects } from "./subjects.fixture.ts";

const second = 1_000;
const day = 24 * 60 * 60 * second;

const defense = "SUPPLYDEFENSEMATERIAL";
const rows: readonly { gateway: keyof typeof subjects; defense?: string; document: string }[] = [
  { gateway: "SANDBOX_A", document: "receipt" },
  { gateway: "SANDBOX_B", defense, document: "DefenseMaterial" },
  { gateway: "STRIPE", document: "receipt" },
  { gateway: "ADYEN", defense, document: "DefenseMaterial" },
  { gateway: "PAYPAL", document: "OTHER" },
];

describe.each(rows)("answers to disputes at $gateway", async ({ gateway, defense, document }) => {
  const harness = await forFile(() => startGatewayHarness(subjects[gateway]));
  let counted = 0;
  afterEach(async () => {
    harness.replaceWith(() => undefined);
    await harness.sandbox.setClockAhead(0);
  });

  const answers = () => harness.connector.disputeAnswers!;
  const newCall = () => harness.call(`rsp_${++counted}`);
  /** Pays with a card whose payment is disputed, and returns the dispute. */
  const disputed = async (name = "Disputed") => {
    harness.forwarder.useCard(disputeCards.find((card) => card.name === name)!.number);
    const hold = await holdPayment(harness, harness.newPayment());
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    await harness.sandbox.quiet();
    const captureReference = answer.type === "done" ? answer.captureReference : undefined;
    const captured: CapturedPayment = { ...hold, capturedMinor: hold.amountMinor, captureReference };
    await harness.sandbox.setClockAhead(6 * second);
    const gatewayReference = (await readingOf(captured))?.gatewayReference ?? `dispute_${await recordOf(captured)}`;
    return { captured, dispute: { gatewayReference, stage: "CHARGEBACK" as const } };
  };
  // Where disputes cannot be read, their notices name them.
  const recordOf = async ({ attemptReference }: CapturedPayment) =>
    (await harness.sandbox.authorizations(attemptReference))[0]!.id;
  const evidence = (more: Partial<Evidence> = {}): Evidence => ({
    defense,
    ...(answers().takesExplanation && { explanation: "The parcel was delivered." }),
    shipping: { carrier: "DHL", trackingNumber: "00340434161094042557", shippedOn: "2026-03-02" },
    documents: [
      {
        type: document,
        name: "receipt.pdf",
        contentType: "application/pdf",
        content: Buffer.from("%PDF-1.4 \xff\x00"),
      },
    ],
    refundReferences: [],
    ...more,
  });
  const readingOf = async (captured: CapturedPayment) => {
    const read = await harness.connector.disputes?.disputesOf(harness.call(""), captured);
    return read === "unreadable" ? undefined : read?.[0];
  };

  it("offers an acceptance and evidence while the dispute needs a response", async () => {
    const { dispute } = await disputed();
    const options = await answers().options(harness.call(""), dispute);
    expect(options).toMatchObject({ accept: true });
    const offered = options!.defenses.find(({ code }) => code === defense);
    expect(offered!.documentTypes.map(({ type }) => type)).toContain(document);
  });

  it("accepts, once", async () => {
    const { captured, dispute } = await disputed();
    expect(await answers().accept(newCall(), dispute)).toEqual({ type: "taken" });
    expect(await answers().accept(newCall(), dispute)).toMatchObject({ type: "refused" });
    expect(await answers().options(harness.call(""), dispute)).toEqual({ accept: false, defenses: [] });
    const read = await readingOf(captured);
    if (harness.connector.disputes) expect(["LOST", "ACCEPTED"]).toContain(read?.status);
  });

  it("submits evidence, once, which the bank examines", async () => {
    const { captured, dispute } = await disputed();
    expect(await answers().submit(newCall(), dispute, evidence())).toEqual({ type: "taken" });
    expect(await answers().submit(newCall(), dispute, evidence())).toMatchObject({ type: "refused" });
    if (harness.connector.disputes) expect(await readingOf(captured)).toMatchObject({ status: "UNDER_REVIEW" });
  });

  it("repeats an answer that was lost with the same key, and looks it up where it can", async () => {
    const { captured, dispute } = await disputed("Disputed, and answers are lost");
    const call = newCall();
    expect(await answers().submit(call, dispute, evidence())).toMatchObject({ type: "unknown" });
    if (harness.connector.disputes) expect(await readingOf(captured)).toMatchObject({ status: "UNDER_REVIEW" });
    const again = await answers().submit(call, dispute, evidence());
    // Adyen and PayPal document no keys for it.
    expect(again.type).toBe(gateway === "ADYEN" || gateway === "PAYPAL" ? "refused" : "taken");
  });

  it("refuses an answer after the deadline", async () => {
    const { dispute } = await disputed();
    await harness.sandbox.setClockAhead(19 * day);
    expect(await answers().submit(newCall(), dispute, evidence())).toMatchObject({ type: "refused" });
  });

  it.each([
    ["a page of an intermediary", { status: 502, body: "<html>" }],
    ["an answer about something else", { status: 200, body: "{}" }],
    ["an error of the server", { status: 500, body: "{}" }],
  ])("takes nothing from %s", async (_, answer) => {
    const { dispute } = await disputed();
    harness.replaceWith(({ path }) => (/token$/.test(path) ? undefined : { headers: {}, ...answer }));
    expect(await answers().accept(newCall(), dispute)).toMatchObject({ type: "unknown" });
    expect(await answers().submit(newCall(), dispute, evidence())).toMatchObject({ type: "unknown" });
    expect(await answers().options(harness.call(""), dispute)).toBeUndefined();
  });
});
