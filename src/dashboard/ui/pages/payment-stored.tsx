/** The stored card of a payment: its initiator, its agreement and renewal, and the actions for an unpaid renewal. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { StoredPayment } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Initiator } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { momentInWords } from "../parts/time.tsx";
import { ScopeLink } from "../scope.ts";
import { chainInWords, retryInWords, savingInWords } from "./stored-words.ts";

export function PaymentStored({ stored, customerRef }: { stored: StoredPayment; customerRef: string }) {
  const { initiator, paymentMethodId, agreementId, renewalRef, chain, savedCard, retry } = stored;
  const isRenewal = renewalRef !== "";
  return (
    <section className="stack" aria-labelledby="stored">
      <h2 id="stored">{isRenewal ? "Renewal" : "Stored card"}</h2>
      <div className="card">
        {retry && <p>{retryInWords(retry, retry.notBefore && momentInWords(timestampDate(retry.notBefore)))}</p>}
        <dl className="facts">
          <Fact name="Made by">{initiator === Initiator.MERCHANT ? "You, without the customer" : "The customer"}</Fact>
          {isRenewal && (
            <Fact name="Renewal">
              <bdi>{visible(renewalRef)}</bdi>, try {stored.try}
            </Fact>
          )}
          {agreementId && (
            <Fact name={isRenewal ? "Agreement" : "Begins the agreement"}>
              <CopiedText label="the agreement’s id" text={agreementId} />
            </Fact>
          )}
          {paymentMethodId && (
            <Fact name="Stored card">
              <CopiedText label="the stored card’s id" text={paymentMethodId} />
            </Fact>
          )}
          {savedCard && <Fact name="Storing of the card">{savingInWords(savedCard.status)}</Fact>}
          {chain && agreementId && (
            <Fact name={isRenewal ? "Continues the agreement" : "The agreement goes on"}>{chainInWords(chain)}</Fact>
          )}
        </dl>
        {customerRef && (
          <ScopeLink to="./payments/customer" search={{ customer: customerRef }}>
            The customer’s cards and agreements
          </ScopeLink>
        )}
      </div>
    </section>
  );
}
