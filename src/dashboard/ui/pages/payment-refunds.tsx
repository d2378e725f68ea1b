/** The refunds of a payment, the doubts about them, and the form in which an owner records the end of one. */
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import {
  DecideRefundRequest_Decision as Decision,
  type Payment,
  PaymentService,
} from "../../../../gen/dashboard/v1/payments_pb.ts";
import { type Refund, Refund_Status as Status } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Amount, formatAmount } from "../parts/amount.tsx";
import { Button } from "../parts/button.tsx";
import { CopiedText, visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { inWords, makerOf, RefundState } from "../parts/refund-state.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

export function PaymentRefunds({ payment, onChange }: { payment: Payment; onChange: () => unknown }) {
  const { refunds, amountRefunded, amountRefundable } = payment;
  if (refunds.length === 0) return null;
  const isPending = refunds.some(({ status }) => status === Status.PENDING);
  return (
    <section className="stack" aria-labelledby="refunds">
      <div>
        <h2 id="refunds">Refunds</h2>
        <p className="soft">
          {amountRefunded
            ? `${formatAmount(amountRefunded)} ${isPending ? "refunded or pending" : "refunded"}`
            : "Nothing is refunded"}
          {amountRefundable &&
            amountRefundable.amountMinor > 0n &&
            `, ${formatAmount(amountRefundable)} can still be refunded`}
          .
        </p>
      </div>
      <ol className="attempts">
        {refunds.map((refund) => (
          <li className="card" key={refund.refundId}>
            <RefundCard refund={refund} />
            {refund.needsDecision && <DecisionPart refund={refund} onChange={onChange} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function RefundCard({ refund }: { refund: Refund }) {
  const { amount, status, gateway, doubt, failureCode, decidedBy, decisionReason } = refund;
  return (
    <>
      <h3>
        <Amount amount={amount} /> at {nameOfGateway(gateway)} <RefundState status={status} />
      </h3>
      {doubt && <p className="banner">{nameGatewaysIn(doubt)}</p>}
      {failureCode && <p>Failed: {inWords(failureCode)}</p>}
      <RefundFacts refund={refund} />
      {decidedBy && (
        <p className="small">
          End recorded by <bdi>{visible(decidedBy)}</bdi>: <bdi>{visible(decisionReason)}</bdi>
        </p>
      )}
    </>
  );
}

function RefundFacts({ refund }: { refund: Refund }) {
  const { gatewayReference, reason, refundRef, createdAt, completedAt } = refund;
  return (
    <dl className="facts">
      {gatewayReference && (
        <Fact name="The gateway’s reference">
          <CopiedText label="the gateway’s reference of the refund" text={gatewayReference} />
        </Fact>
      )}
      {reason && <Fact name="Reason">{reason.replaceAll("_", " ")}</Fact>}
      {refundRef && (
        <Fact name="Your reference">
          <CopiedText label="your reference of the refund" text={refundRef} />
        </Fact>
      )}
      <Fact name="Requested by">
        <bdi>{makerOf(refund)}</bdi>, <Moment at={createdAt} />
      </Fact>
      {completedAt && (
        <Fact name="Ended">
          <Moment at={completedAt} />
        </Fact>
      )}
      <Fact name="Refund">
        <CopiedText label="the refund’s id" text={refund.refundId} />
      </Fact>
    </dl>
  );
}

function DecisionPart({ refund, onChange }: { refund: Refund; onChange: () => unknown }) {
  const [isOpen, setOpen] = useState(false);
  const { role } = useScope();
  if (!includesRole(role, Role.OWNER)) return <p className="small">An owner must record what the gateway did.</p>;
  if (isOpen) return <DecisionForm refund={refund} onChange={onChange} onEnd={() => setOpen(false)} />;
  return (
    <div>
      <Button onPress={() => setOpen(true)}>Record its end</Button>
    </div>
  );
}

const actions: Readonly<Record<number, string>> = {
  [Decision.MADE]: "Record as made",
  [Decision.NEVER_MADE]: "Record as never made",
  [Decision.SEND]: "Let it be sent",
};

function DecisionForm(props: { refund: Refund; onChange: () => unknown; onEnd: () => void }) {
  const { refund, onChange, onEnd } = props;
  const { merchantId, environment } = useScope();
  const client = useClient(PaymentService);
  const [decision, setDecision] = useState<Decision>(Decision.MADE);
  const { sessionId, refundId, mayBeSent } = refund;
  const reasonId = useId();
  const decide = useMutation({
    mutationFn: (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "").trim();
      const of = { merchantId, environment, sessionId, refundId, decision };
      return client.decideRefund({ ...of, gatewayReference: text("reference"), reason: text("reason") });
    },
    onSuccess: () => {
      onEnd();
      onChange();
    },
    meta: { done: "What you found is recorded." },
  });
  return (
    <DataForm aria-label="Record the end of the refund" onData={decide.mutate}>
      <p className="soft">
        Look at the payment in {nameOfGateway(refund.gateway)}’s own dashboard first. It counts for good.
      </p>
      <SelectField
        label="What you found there"
        value={decision}
        onChange={({ target }) => setDecision(Number(target.value) as Decision)}
        values={[
          [Decision.MADE, "The refund was made"],
          [Decision.NEVER_MADE, "The refund was never made"],
          ...(mayBeSent ? [[Decision.SEND, "No other refund of the payment: send this one"] as const] : []),
        ]}
      />
      {decision === Decision.MADE && (
        <Field
          label="The gateway’s reference of the refund"
          name="reference"
          pattern="[!-~]{1,255}"
          isRequired
          autoComplete="off"
        />
      )}
      <div className="field">
        <label htmlFor={reasonId}>What you have seen, and where</label>
        <textarea id={reasonId} name="reason" rows={3} maxLength={1000} required />
      </div>
      <Refusal error={decide.error} />
      <div className="row">
        <Button kind="danger" type="submit" isPending={decide.isPending}>
          {actions[decision]}
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </DataForm>
  );
}
