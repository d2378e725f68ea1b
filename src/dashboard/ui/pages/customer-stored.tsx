/** The stored cards of a customer, and the agreements with their gateways and renewals. */
import { useQuery } from "@connectrpc/connect-query";
import {
  type StoredAgreement,
  type StoredCard,
  StoredCardService,
  type StoredRenewal,
} from "../../../../gen/dashboard/v1/stored_cards_pb.ts";
import { type AgreementGateway, Agreement_Status as Status } from "../../../../gen/payments/v1/stored_card_pb.ts";
import { Amount, formatAmount } from "../parts/amount.tsx";
import { Badge } from "../parts/badge.tsx";
import { CardFace, Gateway } from "../parts/brand.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { StoredAction } from "./stored-action.tsx";
import { expiryOf, faceOfAgreement, faceOfRenewal, reasonInWords, stopInWords, termsInWords } from "./stored-words.ts";

export function CustomerStored({ customerRef }: { customerRef: string }) {
  const { merchantId, environment } = useScope();
  const { data, error, refetch } = useQuery(StoredCardService.method.getStoredCards, {
    merchantId,
    environment,
    customerRef,
  });
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The stored cards" />;
  const { cards, agreements } = data;
  return (
    <>
      <section className="stack" aria-labelledby="stored-cards">
        <h2 id="stored-cards">Stored cards</h2>
        {cards.length === 0 && <p className="soft">No card is stored.</p>}
        <ul className="attempts">
          {cards.map((card) => (
            <li className="card" key={card.paymentMethodId}>
              <Card card={card} agreements={agreements} />
            </li>
          ))}
        </ul>
      </section>
      {agreements.length > 0 && (
        <section className="stack" aria-labelledby="agreements">
          <h2 id="agreements">Agreements</h2>
          {agreements.map((agreement) => (
            <Agreement key={agreement.agreementId} agreement={agreement} cards={cards} />
          ))}
        </section>
      )}
    </>
  );
}

const nameOfCard = ({ card }: StoredCard) => `${nameOfBrand(card?.brand ?? "")} ending in ${card?.last4 ?? ""}`;
const goesOn = ({ status }: StoredAgreement) => status === Status.ACTIVE || status === Status.NEEDS_CARD;

function Card({ card, agreements }: { card: StoredCard; agreements: readonly StoredAgreement[] }) {
  const { merchantId, environment } = useScope();
  const { paymentMethodId, stoppedBecause, stoppedAt, notBefore, hidden, expired, lastUsedAt } = card;
  const client = useClient(StoredCardService);
  const charged = agreements.filter((agreement) => agreement.paymentMethodId === paymentMethodId && goesOn(agreement));
  const name = nameOfCard(card);
  return (
    <>
      <h3>
        {card.card && <CardFace brand={card.card.brand} last4={card.card.last4} />} <CardState card={card} />
      </h3>
      {stoppedBecause && <p>{stopInWords(stoppedBecause)}</p>}
      {hidden && <p>Hidden in the checkout for a day: it was declined five times within a day.</p>}
      {notBefore && (
        <p>
          The bank or the card network asks to charge no agreement before <Moment at={notBefore} />.
        </p>
      )}
      <dl className="facts">
        <Fact name="Expires">
          {card.card && expiryOf(card.card)}
          {expired && ", which is over. Some banks approve it all the same"}
        </Fact>
        {stoppedAt && (
          <Fact name="Stopped">
            <Moment at={stoppedAt} />
          </Fact>
        )}
        <Fact name="Last used">
          <Moment at={lastUsedAt} />
        </Fact>
        <Fact name="Stored">
          <Moment at={card.createdAt} />
        </Fact>
        <Fact name="Stored card">
          <CopiedText label="the stored card’s id" text={paymentMethodId} />
        </Fact>
      </dl>
      <div>
        <StoredAction
          action="Delete card"
          label={`Delete card ${name}`}
          title={`Delete the card ${name}?`}
          run={(reason) => client.deleteStoredCard({ merchantId, environment, paymentMethodId, reason })}
          done="The card is deleted."
        >
          {charged.length === 0
            ? "The customer cannot pay with it any more. This cannot be undone."
            : `The customer cannot pay with it any more, and ${charged.length === 1 ? "its agreement needs" : `its ${charged.length} agreements need`} another card. This cannot be undone.`}
        </StoredAction>
      </div>
    </>
  );
}

function CardState({ card: { stoppedBecause, expired, hidden } }: { card: StoredCard }) {
  return (
    <span className="states">
      <Badge tone={stoppedBecause ? "bad" : "good"}>{stoppedBecause ? "Stopped" : "Active"}</Badge>
      {expired && <span className="badge">Expired</span>}
      {hidden && <Badge tone="warn">Hidden</Badge>}
    </span>
  );
}

function Agreement({ agreement, cards }: { agreement: StoredAgreement; cards: readonly StoredCard[] }) {
  const { merchantId, environment } = useScope();
  const { agreementId, terms, status, statusBecause, sessionId, maxAmount, renewals, renewalCount } = agreement;
  const client = useClient(StoredCardService);
  const card = cards.find(({ paymentMethodId }) => paymentMethodId === agreement.paymentMethodId);
  const { name, tone } = faceOfAgreement(status);
  const text = visible(terms?.text ?? "");
  return (
    <article className="card">
      <h3>
        <bdi>{text}</bdi> <Badge tone={tone}>{name}</Badge>
      </h3>
      {statusBecause && <p>{reasonInWords(statusBecause)}</p>}
      <dl className="facts">
        <Fact name="Terms">
          {terms && termsInWords(terms)},{" "}
          {maxAmount ? `at most ${formatAmount(maxAmount)}` : `in ${agreement.currency}`}
        </Fact>
        <Fact name="Card">
          {card?.card ? <CardFace brand={card.card.brand} last4={card.card.last4} /> : <span className="soft">–</span>}
        </Fact>
        <Fact name="Agreed">
          <Moment at={agreement.consentedAt} />,{" "}
          <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
            by this payment
          </ScopeLink>
        </Fact>
        {agreement.endedAt && (
          <Fact name="Over since">
            <Moment at={agreement.endedAt} />
          </Fact>
        )}
        <Fact name="Agreement">
          <CopiedText label="the agreement’s id" text={agreementId} />
        </Fact>
      </dl>
      {goesOn(agreement) && <Gateways gateways={agreement.gateways} isStopped={Boolean(card?.stoppedBecause)} />}
      {renewals.length > 0 && <Renewals renewals={renewals} renewalCount={renewalCount} agreementId={agreementId} />}
      {goesOn(agreement) && (
        <div>
          <StoredAction
            action="Cancel agreement"
            label={`Cancel agreement ${text}`}
            title="Cancel the agreement?"
            run={(reason) => client.cancelStoredAgreement({ merchantId, environment, agreementId, reason })}
            done="The agreement is cancelled."
          >
            Nothing is charged for it any more; a renewal that is being charged ends as it would. The card stays stored.
            This cannot be undone.
          </StoredAction>
        </div>
      )}
    </article>
  );
}

/** The merchant's gateways, and why each cannot charge the agreement. A stopped card is charged by none. */
function Gateways({ gateways, isStopped }: { gateways: readonly AgreementGateway[]; isStopped: boolean }) {
  const canCharge = gateways.some(({ because }) => because === undefined);
  if (isStopped)
    return (
      <p className="banner" data-tone="bad">
        Its card is stopped, so no gateway is called for it. Its customer has to pay once more with another card.
      </p>
    );
  return (
    <>
      {!canCharge && (
        <p className="banner" data-tone="bad">
          No gateway can charge this agreement. Its customer has to pay once more with a card that is stored.
        </p>
      )}
      <ul>
        {gateways.map(({ connectionId, gateway, because }) => (
          <li key={connectionId}>
            <Gateway gateway={gateway} />{" "}
            <span className="soft small">{because === undefined ? "can charge it" : nameGatewaysIn(because)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Renewal" },
  { name: "Amount", isNumber: true },
  { name: "State" },
  { name: "Tries", isNumber: true },
  { name: "Begun" },
];

function Renewals(props: { renewals: readonly StoredRenewal[]; renewalCount: number; agreementId: string }) {
  const { renewals, renewalCount, agreementId } = props;
  const rows = renewals.map((renewal) => {
    const { name, tone } = faceOfRenewal(renewal);
    const { renewalRef, sessionId } = renewal;
    return {
      key: renewalRef,
      cells: [
        <RenewalLink key="ref" renewalRef={renewalRef} sessionId={sessionId} />,
        renewal.amount ? <Amount key="amount" amount={renewal.amount} /> : "Not charged yet",
        <Badge key="state" tone={tone}>
          {name}
        </Badge>,
        renewal.tries,
        <Moment key="at" at={renewal.createdAt} />,
      ],
    };
  });
  return (
    <>
      <RecordTable label={`Renewals of ${agreementId}`} columns={columns} rows={rows} className="records lines" />
      {renewalCount > renewals.length && (
        <p className="soft small">
          The newest {renewals.length} of {renewalCount.toLocaleString()} renewals.
        </p>
      )}
    </>
  );
}

function RenewalLink({ renewalRef, sessionId }: { renewalRef: string; sessionId: string }) {
  const named = <bdi>{visible(renewalRef)}</bdi>;
  if (sessionId === "") return named;
  return (
    <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
      {named}
    </ScopeLink>
  );
}
