/** Simulates one payment with the rule as it is on the page. */
import { useState } from "react";
import {
  RouteCase_Answer as Answer,
  CardRange_Type,
  type TestRouteResponse,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { Badge, type Tone } from "../parts/badge.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { Field, SelectField } from "../parts/field.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { readAmount, type TypedAmount, typedOf } from "../parts/minor-units.ts";
import { formatWholePercent } from "../parts/numbers.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { brands, type Currencies, cardTypes } from "./routing-case-draft.ts";
import { useCurrencies } from "./routing-cases.tsx";
import { problemsOf, type RuleDraft, type Trial, type TrialFacts, useRouteTest } from "./routing-draft.ts";

const answers: readonly (readonly [Answer, string])[] = [
  [Answer.APPROVED, "an approval"],
  [Answer.HARD_DECLINE, "a hard decline"],
  [Answer.SOFT_DECLINE, "a soft decline"],
  [Answer.TRY_AGAIN, "a decline that allows a retry at once"],
  [Answer.FRAUD, "a decline for suspected fraud"],
  [Answer.SCHEME_RULE, "a decline after which card schemes forbid a retry"],
  [Answer.SAME_CARD_FAILS, "a decline that the card gets everywhere, such as an expired card"],
  [Answer.AUTHENTICATION_REQUIRED, "a request for authentication (3-D Secure)"],
  [Answer.UNCLASSIFIED, "an unclassified decline code"],
  [Answer.TIMEOUT, "no answer in time (timeout)"],
  [Answer.GATEWAY_ERROR, "a gateway error"],
  [Answer.CAPTURE_REFUSED, "an approval, and then a refusal of the capture"],
  [Answer.VAULT_UNAVAILABLE, "nothing: the vault is unavailable, so no gateway gets the card"],
];

// Names each outcome like the state of a payment.
const ends: Readonly<Record<string, readonly [name: string, tone: Tone]>> = {
  SUCCEEDED: ["Succeeded", "good"],
  DECLINED: ["Declined", "bad"],
  DEGRADED: ["Failed", "warn"],
  CANNOT_KNOW: ["Unknown: it depends on the customer", "warn"],
};

export function RoutingTester(props: { draft: RuleDraft; trial: Trial; onTrial: (trial: Trial) => void }) {
  const { draft, trial, onTrial } = props;
  const [answer, setAnswer] = useState<Answer>(Answer.HARD_DECLINE);
  const { data, error } = useRouteTest(draft.isChanged ? draft : undefined, trial);
  const { facts = noFacts } = trial;
  const list = draft.cases?.list ?? [];
  const hasCases = list.length > 0;
  const hasSplit = [draft, ...list].some(({ split }) => split !== undefined);
  const currencies = useCurrencies();
  return (
    <section className="card tester" aria-labelledby="tester">
      <h2 id="tester">Test a payment</h2>
      <p>
        Routes {data?.amount ? `a payment of ${formatAmount(data.amount)}` : "a payment"} by{" "}
        {draft.isChanged ? "your unsaved changes" : "the rule in use"}. No gateway is called.
      </p>
      <div className="fields">
        {currencies.error && <Failure error={currencies.error} onRetry={currencies.refetch} />}
        {currencies.data && <AmountFields known={currencies.data.currencies} trial={trial} onTrial={onTrial} />}
      </div>
      <SelectField
        label="Each gateway answers with"
        value={answer}
        onChange={({ target }) => setAnswer(Number(target.value) as Answer)}
        values={answers}
      />
      {hasCases && <TrialFactFields facts={facts} onChange={(changed) => onTrial({ ...trial, facts: changed })} />}
      {hasSplit && (
        <SelectField
          label="If its plan is split, the payment falls into"
          value={facts.arm || "A"}
          onChange={({ target }) => onTrial({ ...trial, facts: { ...facts, arm: target.value } })}
          values={[
            ["A", "Variant A"],
            ["B", "Variant B"],
          ]}
        />
      )}
      <Refusal error={error} />
      {!data && !error && problemsOf(draft).length === 0 && <Loading what="The plan" />}
      {data && !error && <Way answer={answer} test={data} />}
    </section>
  );
}

type AmountProps = { known: Currencies; trial: Trial; onTrial: (trial: Trial) => void };

/** The amount and its currency. Another currency does not change the amount that is shown. */
function AmountFields({ known, trial, onTrial }: AmountProps) {
  const decimalsOf = (currency: string) => known.find(({ code }) => code === currency)?.exponent;
  const [text, setText] = useState(typedOf({ ...trial, exponent: decimalsOf(trial.currency) ?? 2 }));
  const [currency, setCurrency] = useState(trial.currency);
  const exponent = decimalsOf(currency);
  const read = (amount: string, unit: string) => {
    const decimals = decimalsOf(unit);
    return decimals === undefined ? undefined : readAmount(amount, { currency: unit, exponent: decimals });
  };
  const change = (amount: string, unit: string) => {
    setText(amount);
    setCurrency(unit);
    const typed = read(amount, unit);
    if (typed?.type === "amount" && typed.amountMinor > 0n)
      onTrial({ ...trial, amountMinor: typed.amountMinor, currency: unit });
  };
  const typed = read(text, currency);
  return (
    <>
      <Field
        label={`Amount in ${exponent === undefined ? "the currency" : currency}`}
        inputMode="decimal"
        value={text}
        problem={problemOf(typed)}
        onChange={(amount) => change(amount, currency)}
      />
      <Field
        label="Currency"
        value={currency}
        maxLength={3}
        options={known.map(({ code }) => code)}
        problem={exponent === undefined ? "Three upper-case letters, such as EUR." : undefined}
        onChange={(unit) => change(text, unit)}
      />
    </>
  );
}

function problemOf(typed: TypedAmount | undefined): string | undefined {
  if (typed?.type === "problem") return typed.problem;
  return typed?.amountMinor === 0n ? "Enter an amount above zero." : undefined;
}

const noFacts: TrialFacts = {
  cardBrand: "",
  cardType: CardRange_Type.TYPE_UNSPECIFIED,
  issuingCountry: "",
  billingCountry: "",
  metadata: {},
  arm: "",
};

function TrialFactFields({ facts, onChange }: { facts: TrialFacts; onChange: (facts: TrialFacts) => void }) {
  const set = (changed: Partial<TrialFacts>) => onChange({ ...facts, ...changed });
  const country = (text: string) => (text === "" || /^[A-Z]{2}$/.test(text) ? null : "Two letters, such as DE.");
  return (
    <div className="fields">
      <SelectField
        label="Card brand"
        value={facts.cardBrand}
        onChange={({ target }) => set({ cardBrand: target.value })}
        values={[["", "Unknown"], ...brands.map((brand) => [brand, nameOfBrand(brand)] as const)]}
      />
      <SelectField
        label="Card type"
        value={facts.cardType}
        onChange={({ target }) => set({ cardType: Number(target.value) as CardRange_Type })}
        values={[[CardRange_Type.TYPE_UNSPECIFIED, "Unknown"], ...cardTypes]}
      />
      <Field
        label="Issuing country"
        maxLength={2}
        validate={country}
        onChange={(text) => set({ issuingCountry: text })}
      />
      <Field
        label="Billing country"
        maxLength={2}
        validate={country}
        onChange={(text) => set({ billingCountry: text })}
      />
      <Field
        label="Metadata"
        hint="Such as tier=gold, shop=web."
        onChange={(text) => set({ metadata: pairsIn(text) })}
      />
    </div>
  );
}

function pairsIn(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair));
  return Object.fromEntries(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1], pair[2]]])));
}

function Way({ answer, test }: { answer: Answer; test: TestRouteResponse }) {
  const outcome = test.cases.find((each) => each.answer === answer);
  return (
    <div className="way" aria-live="polite">
      {test.case !== undefined && (
        <p>
          Follows the case <strong>{test.case}</strong>.
        </p>
      )}
      {test.split && (
        <p>
          Falls into <strong>variant {test.split.arm}</strong>: {formatWholePercent(test.split.percent / 100)} of the
          payments of this plan go to variant B.
        </p>
      )}
      {test.unknownCases.map((sentence) => (
        <p className="small" key={sentence}>
          {sentence}
        </p>
      ))}
      <ol>
        {outcome?.steps.map(({ connectionId, gateway, action, because }) => (
          <li key={`${connectionId} ${action}`} data-action={action}>
            <strong>{nameOfGateway(gateway)}</strong>
            <span className="small">{nameGatewaysIn(because)}</span>
          </li>
        ))}
      </ol>
      <p>
        Ends as <Badge tone={ends[outcome?.status ?? ""]?.[1]}>{ends[outcome?.status ?? ""]?.[0]}</Badge>
        {outcome?.steps.length === 0 && " without an attempt: no gateway can be used."}
        {outcome && ["DECLINED", "DEGRADED"].includes(outcome.status) && outcome.steps.length > 1 && (
          <span className="soft small"> unless a gateway approves.</span>
        )}
      </p>
      {test.plan.length > 0 && (
        <div>
          <h3>Customer authentication</h3>
          <ul className="small changes">
            {test.authentication.map((sentence) => (
              <li key={sentence}>{nameGatewaysIn(sentence)}</li>
            ))}
          </ul>
        </div>
      )}
      {test.skipped.length > 0 && (
        <ul className="small">
          {test.skipped.map(({ connectionId, gateway, because }) => (
            <li key={connectionId}>
              <strong>{nameOfGateway(gateway)}</strong> is left out. {nameGatewaysIn(because)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
