/** The promises of every connector that imports a provider's proof, field by field, and of those that ask for exemptions. */
import { afterEach, describe, expect, it } from "vitest";
import type { AuthenticationProof, Exemption } from "../../../gateways/authentication.ts";
import { approvedCard, type GatewayHarness } from "../gateway-harness.ts";

export type ImportSubject = {
  /** Returns the part of a request's body that imports; empty for a body that imports nothing. */
  readonly read: (body: string) => object;
  /** Returns that part for a proof, as the gateway documents it. */
  readonly fields: (proof: AuthenticationProof) => object;
  /** Absent if the connector asks for no exemption. */
  readonly exemptions?: {
    readonly read: (body: string) => unknown;
    readonly values: Readonly<Record<Exemption, string>>;
  };
};

const proof: AuthenticationProof = {
  version: "2.2.0",
  transStatus: "Y",
  directoryStatus: "Y",
  eci: "05",
  cryptogram: "AJkBBkhgQQAAAE4gSEJydQAAAAA=",
  dsTransactionId: "f25084f0-5b16-4c0a-ae5d-b24808a95e4b",
  challengeIndicator: "04",
};

// Cards that ask for authentication everywhere; the directory authenticates the first, and attempts the second.
const authenticatedCard = "4000000000003055";
const attemptedCard = "4000000000007023";

export function describeImport(harness: () => GatewayHarness, subject: ImportSubject): void {
  describe("and imports a provider's proof", () => {
    afterEach(() => harness().forwarder.useCard(approvedCard));

    const authorize = async (number: string, imported: AuthenticationProof, change: { amountMinor?: number } = {}) => {
      harness().forwarder.useCard(number);
      const before = harness().middle.requests.length;
      const payment = harness().newPayment({ proof: imported, ...change });
      const answer = await harness().connector.authorize(harness().call(payment.attemptReference), payment);
      const sent = harness().middle.requests.slice(before);
      return { ...answer, bodies: sent.map(({ body }) => subject.read(body.toString())) };
    };
    /** Authenticates a card at the sandbox's 3DS server. */
    const authenticate = async (acctNumber: string, amountMinor: number): Promise<AuthenticationProof> => {
      const post = async (path: string, body: object) => {
        const headers = { apikey: "sandbox_test_one" };
        const url = `${harness().sandbox.origin}/${path}`;
        const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
        return (await answer.json()) as Record<string, string>;
      };
      const { threeDSServerTransID } = await post("preauth", { acctNumber });
      const payment = { acctNumber, purchaseAmount: String(amountMinor), cardholderName: "Marie Curie" };
      const areq = { ...payment, threeDSServerTransID, messageVersion: "2.2.0" };
      const { transStatus = "", eci = "", dsTransID = "", authenticationValue = "" } = await post("auth", areq);
      const told = { transStatus, directoryStatus: transStatus, eci };
      return { ...proof, ...told, cryptogram: authenticationValue, dsTransactionId: dsTransID };
    };
    const isSent = (body: object) => Object.keys(body).length > 0;

    it.each<[string, Partial<AuthenticationProof>]>([
      ["without a challenge", {}],
      ["after a challenge", { directoryStatus: "C" }],
      ["of an attempt", { transStatus: "A", directoryStatus: "A", eci: "06" }],
      ["of Mastercard", { eci: "02", version: "2.1.0" }],
      ["of Cartes Bancaires", { cartesBancaires: { algorithm: "4", exemption: "4AAA", score: "57" } }],
      ["of Cartes Bancaires without a score", { cartesBancaires: { algorithm: "A" } }],
    ])("with exactly the fields that the gateway documents, once: %s", async (_, change) => {
      const sent = { ...proof, ...change };
      const { bodies } = await authorize(approvedCard, sent);
      expect(bodies.filter(isSent)).toEqual([subject.fields(sent)]);
    });

    it("and sends nothing of one where there is none", async () => {
      const before = harness().middle.requests.length;
      const payment = harness().newPayment();
      await harness().connector.authorize(harness().call(payment.attemptReference), payment);
      const bodies = harness().middle.requests.slice(before);
      expect(bodies.map(({ body }) => subject.read(body.toString())).filter(isSent)).toEqual([]);
    });

    it.each([authenticatedCard, attemptedCard])("and holds with it where its bank wants it: %s", async (number) => {
      const { amountMinor } = harness().newPayment();
      const { outcome, ...told } = await authorize(number, await authenticate(number, amountMinor));
      expect(outcome).toMatchObject({ type: "held" });
      expect(JSON.stringify({ outcome, card: told.card, authenticated: told.authenticated })).not.toContain(
        "cryptogram",
      );
    });

    it("and never shows a page, but declines, if the bank refuses the proof", async () => {
      const { amountMinor } = harness().newPayment();
      const real = await authenticate(authenticatedCard, amountMinor);
      const refused = { type: "declined", stop: "authentication_required" };
      const forged = { ...real, cryptogram: proof.cryptogram };
      expect((await authorize(authenticatedCard, forged)).outcome).toMatchObject(refused);
      const otherAmount = await authorize(authenticatedCard, real, { amountMinor: amountMinor + 1 });
      expect(otherAmount.outcome).toMatchObject(refused);
      expect((await authorize(attemptedCard, real)).outcome).toMatchObject(refused);
    });
  });

  const { exemptions } = subject;
  if (exemptions === undefined) return;
  it.each(Object.entries(exemptions.values) as [Exemption, string][])(
    "asks for the exemption %s",
    async (kind, value) => {
      const before = harness().middle.requests.length;
      for (const exemption of [kind, undefined]) {
        const payment = harness().newPayment({ exemption });
        await harness().connector.authorize(harness().call(payment.attemptReference), payment);
      }
      const asked = harness()
        .middle.requests.slice(before)
        .map(({ body }) => exemptions.read(body.toString()));
      expect(asked.filter((one) => one !== undefined)).toEqual([value]);
    },
  );
}
