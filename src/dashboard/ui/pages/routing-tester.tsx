/** Simulates one payment with the rule as it is on the page. */
import { useId, useState } from "react";
import { RouteCase_Answer as Answer, type TestRouteResponse } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { Field } from "../parts/field.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Loading } from "../parts/states.tsx";
import { type RuleDraft, type Trial, useRouteTest } from "./routing-draft.ts";

const answers: readonly (readonly [Answer, string])[] = [
  [Answer.APPROVED, "approve"],
  [Answer.HARD_DECLINE, "decline"],
  [Answer.SOFT_DECLINE, "decline for now"],
  [Answer.FRAUD, "suspect fraud"],
  [Answer.SCHEME_RULE, "decline, and the scheme forbids a retry"],
  [Answer.SAME_CARD_FAILS, "decline, as every gateway would"],
  [Answer.AUTHENTICATION_REQUIRED, "ask for authentication"],
  [Answer.UNCLASSIFIED, "decline by an unclassified code"],
  [Answer.TIMEOUT, "do not answer in time"],
  [Answer.GATEWAY_ERROR, "answer with an error"],
  [Answer.CAPTURE_REFUSED, "hold, and refuse the capture"],
  [Answer.VAULT_UNAVAILABLE, "receive no card, because the vault is down"],
];

const endTones: Readonly<Record<string, string>> = {
  SUCCEEDED: "good",
  DECLINED: "warn",
  DEGRADED: "bad",
  CANNOT_KNOW: "warn",
};

/** A form for a payment and the gateways' answers, and the resulting route. */
export function RoutingTester(props: { draft: RuleDraft; trial: Trial; onTrial: (trial: Trial) => void }) {
  const { draft, trial, onTrial } = props;
  const [answer, setAnswer] = useState<Answer>(Answer.HARD_DECLINE);
  const answerId = useId();
  const { data, error } = useRouteTest(draft.isChanged ? draft : undefined, trial);
  const submit = (amount: string, currency: string) => {
    if (/^[1-9]\d{0,11}$/.test(amount) && /^[A-Z]{3}$/.test(currency))
      onTrial({ amountMinor: BigInt(amount), currency });
  };
  return (
    <section className="card" aria-labelledby="tester">
      <h2 id="tester">Test a payment</h2>
      <p>
        Routes {data?.amount ? `a payment of ${formatAmount(data.amount)}` : "a payment"} by{" "}
        {draft.isChanged ? "your unsaved changes" : "the rule in use"}. No gateway is called.
      </p>
      <div className="fields">
        <Field
          label="Amount in minor units"
          inputMode="numeric"
          defaultValue={String(trial.amountMinor)}
          validate={(text) => (/^[1-9]\d{0,11}$/.test(text) ? null : "A whole number: 4900 is 49.00 EUR.")}
          onChange={(text) => submit(text, trial.currency)}
        />
        <Field
          label="Currency"
          defaultValue={trial.currency}
          maxLength={3}
          validate={(text) => (/^[A-Z]{3}$/.test(text) ? null : "Three upper-case letters, such as EUR.")}
          onChange={(text) => submit(String(trial.amountMinor), text)}
        />
        <div className="field">
          <label htmlFor={answerId}>The gateways</label>
          <select id={answerId} value={answer} onChange={(event) => setAnswer(Number(event.target.value) as Answer)}>
            {answers.map(([each, words]) => (
              <option key={each} value={each}>
                {words}
              </option>
            ))}
          </select>
        </div>
      </div>
      <Refusal error={error} />
      {!data && !error && draft.connectionIds.length > 0 && <Loading what="The plan" />}
      {data && !error && <Way answer={answer} test={data} />}
    </section>
  );
}

function Way({ answer, test }: { answer: Answer; test: TestRouteResponse }) {
  const outcome = test.cases.find((each) => each.answer === answer);
  return (
    <div className="way" aria-live="polite">
      <ol>
        {outcome?.steps.map(({ connectionId, gateway, action, because }) => (
          <li key={connectionId} data-action={action}>
            <strong>{nameOfGateway(gateway)}</strong>
            <span className="small">{nameGatewaysIn(because)}</span>
          </li>
        ))}
      </ol>
      <p>
        Ends{" "}
        <span className="badge" data-tone={endTones[outcome?.status ?? ""]}>
          {outcome?.status === "CANNOT_KNOW" ? "Unknown: it depends on the customer" : outcome?.status}
        </span>
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
