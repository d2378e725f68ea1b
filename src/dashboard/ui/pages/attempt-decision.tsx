/**
 * The manual decision about an attempt that its gateway never resolves: the decision, its confirmation, and its form.
 */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type AttemptDecision,
  AttemptDecision_Kind as Kind,
  type PaymentAttempt,
  PaymentService,
  type PaymentSummary,
} from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { formatAmount } from "../parts/amount.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { findPartProblem, readAmount } from "../parts/minor-units.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";

type DecisionProps = { attempt: PaymentAttempt; summary: PaymentSummary; onChange: () => unknown };

export function AttemptDecisionPart({ attempt, summary, onChange }: DecisionProps) {
  const [isOpen, setOpen] = useState(false);
  const { role } = useScope();
  const { decision, openDecisions } = attempt;
  const mayDecide = includesRole(role, Role.DEVELOPER) && openDecisions.length > 0;
  return (
    <>
      {decision && (
        <Made attempt={attempt} summary={summary} onChange={onChange} decision={decision} mayDecide={mayDecide} />
      )}
      {mayDecide && !isOpen && (
        <div>
          <Button onPress={() => setOpen(true)}>{decision ? "Change the decision" : "End this attempt"}</Button>
        </div>
      )}
      {mayDecide && isOpen && (
        <DecisionForm attempt={attempt} summary={summary} onChange={onChange} onEnd={() => setOpen(false)} />
      )}
    </>
  );
}

const endOf = ({ kind, gatewayReference, amount }: AttemptDecision) =>
  kind === Kind.CAPTURED
    ? `captured as ${gatewayReference}${amount ? `, ${formatAmount(amount)}` : ""}`
    : "given up, no money captured";

function Made(props: DecisionProps & { decision: AttemptDecision; mayDecide: boolean }) {
  const { attempt, summary, onChange, decision, mayDecide } = props;
  const { merchantId, environment } = useScope();
  const { member } = useSignIn();
  const client = useClient(PaymentService);
  const of = { merchantId, environment, sessionId: summary.sessionId, attemptId: attempt.attemptId };
  const { kind, gatewayReference, confirmedAt, amount } = decision;
  const seen = { kind, gatewayReference, ...(amount && { amountMinor: amount.amountMinor }) };
  const confirm = useMutation({
    mutationFn: () => client.confirmAttemptDecision({ ...of, ...seen }),
    onSuccess: onChange,
    meta: { done: "The decision is confirmed." },
  });
  const withdraw = useMutation({
    mutationFn: () => client.withdrawAttemptDecision(of),
    onSuccess: onChange,
    meta: { done: "The decision is withdrawn." },
  });
  const isOwn = member !== undefined && decision.decidedBy.endsWith(`(${member.memberId})`);
  return (
    <div className="banner stack">
      <p>
        <strong>The attempt is {endOf(decision)}</strong>
        {confirmedAt ? "" : ", not confirmed yet"}: <bdi>{visible(decision.reason)}</bdi>
      </p>
      <p className="small">
        Decided by <bdi>{visible(decision.decidedBy)}</bdi>, <Moment at={decision.decidedAt} />
        {decision.takesTwo && confirmedAt && (
          <>
            ; confirmed by <bdi>{visible(decision.confirmedBy)}</bdi>, <Moment at={confirmedAt} />
          </>
        )}
      </p>
      <Refusal error={confirm.error ?? withdraw.error} />
      {!confirmedAt && mayDecide && (
        <div className="row">
          {!isOwn && (
            <Confirm action="Confirm" title={`The attempt is ${endOf(decision)}?`} runs={confirm}>
              The attempt ends immediately and permanently. Confirm only if you have seen the payment at the gateway
              yourself.
            </Confirm>
          )}
          <Button runs={withdraw}>Withdraw</Button>
        </div>
      )}
      {!confirmedAt && isOwn && <p className="small">Another developer or owner must confirm it.</p>}
    </div>
  );
}

function DecisionForm({ attempt, summary, onChange, onEnd }: DecisionProps & { onEnd: () => void }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = useClient(PaymentService);
  const { attemptId } = attempt;
  const { sessionId, amount: held } = summary;
  const [kind, setKind] = useState<Kind>(Kind.GIVEN_UP);
  const isCaptured = kind === Kind.CAPTURED;
  const decide = useMutation({
    mutationFn: (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "").trim();
      const request = { merchantId, environment, sessionId, attemptId, kind, reason: text("reason") };
      const typed = held && readAmount(text("amount"), held);
      const amount = typed?.type === "amount" ? { amountMinor: typed.amountMinor } : {};
      const statement = isCaptured
        ? { gatewayReference: text("reference"), ...amount }
        : { noMoneyKept: form.has("noMoneyKept") };
      return client.decideAttempt({ ...request, ...statement });
    },
    onSuccess: () => {
      onEnd();
      onChange();
    },
    meta: { done: "The decision is recorded." },
  });
  return (
    <DataForm aria-label={`End attempt ${attempt.sequence}`} onData={decide.mutate}>
      <p className="soft">
        Look at the payment in the gateway’s own dashboard first. Your decision sends nothing to the gateway.
        {environmentName === "live" && " Another developer or owner must confirm it."}
      </p>
      <EndFields attempt={attempt} held={held} kind={kind} onKind={setKind} />
      <Refusal error={decide.error} />
      <div className="row">
        <Button kind="danger" type="submit" isPending={decide.isPending}>
          {isCaptured ? "Record as captured" : "Give up"}
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </DataForm>
  );
}

function EndFields(props: {
  attempt: PaymentAttempt;
  held: PaymentSummary["amount"];
  kind: Kind;
  onKind: (kind: Kind) => void;
}) {
  const { attempt, held, kind, onKind } = props;
  const reasonId = `reason-${attempt.attemptId}`;
  return (
    <>
      <SelectField
        label="How it ended"
        value={kind}
        onChange={({ target }) => onKind(Number(target.value) === Kind.CAPTURED ? Kind.CAPTURED : Kind.GIVEN_UP)}
        values={[
          [Kind.GIVEN_UP, "Given up: no money is captured"],
          ...(attempt.openDecisions.includes(Kind.CAPTURED) ? [[Kind.CAPTURED, "Captured once"] as const] : []),
        ]}
      />
      {kind === Kind.CAPTURED ? (
        <>
          <Field
            label="The gateway’s reference of the payment"
            name="reference"
            hint="At most 255 letters, digits and punctuation, without a space."
            pattern="[!-~]{1,255}"
            isRequired
            autoComplete="off"
          />
          {held && (
            <Field
              label={`Captured amount in ${held.currency}`}
              name="amount"
              hint="Leave it empty if the ordered amount was captured."
              validate={(text) => (text.trim() === "" ? null : findPartProblem(text, held))}
              inputMode="decimal"
              autoComplete="off"
            />
          )}
        </>
      ) : (
        <label className="tick">
          <input type="checkbox" name="noMoneyKept" required /> Nothing was captured, or all of it was refunded
        </label>
      )}
      <div className="field">
        <label htmlFor={reasonId}>What you have seen, and where</label>
        <textarea id={reasonId} name="reason" rows={3} maxLength={1000} required />
      </div>
    </>
  );
}
