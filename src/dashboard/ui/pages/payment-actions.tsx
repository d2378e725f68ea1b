/** The actions about a payment as a whole: capture or cancel one that is held, refund one that is captured. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import type { PaymentAmount } from "../../../../gen/dashboard/v1/payment_amount_pb.ts";
import { type Payment, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { ActionDialog, FocusedButton } from "../parts/action-dialog.tsx";
import { formatAmount } from "../parts/amount.tsx";
import { walletNames } from "../parts/brand.tsx";
import { Button } from "../parts/button.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { findPartProblem, readAmount, typedOf } from "../parts/minor-units.ts";
import { Refusal } from "../parts/refusal.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { HoldActions } from "./payment-hold.tsx";

type ActionProps = {
  payment: Payment;
  /** Opens the form of a refund at once, with this reason. */
  refundReason: string | undefined;
  /** Called when the form was closed, and the payment may have changed. */
  onChange: () => unknown;
};

/** The actions in a row, and below it why some are disabled. */
export function PaymentActions({ payment, refundReason, onChange }: ActionProps) {
  const { role } = useScope();
  const isAllowed = includesRole(role, Role.SUPPORT);
  const whyNot = isAllowed ? payment.notRefundableBecause : "Support, developers and owners can refund.";
  const [isOpen, setOpen] = useState(refundReason !== undefined && whyNot === "");
  const [refunded, setRefunded] = useState<PaymentAmount>();
  const reasonId = useId();
  if (payment.summary?.heldUntil) return <HoldActions payment={payment} onChange={onChange} />;
  if (payment.summary?.status !== PaymentSession_Status.SUCCEEDED) return null;
  const close = (made?: PaymentAmount) => {
    setOpen(false);
    if (made) setRefunded(made);
    onChange();
  };
  return (
    <div className="payment-actions">
      <div className="row">
        <Button
          kind="main"
          isDisabled={whyNot !== ""}
          onPress={() => setOpen(true)}
          {...(whyNot && { "aria-describedby": reasonId })}
        >
          Refund
        </Button>
      </div>
      {whyNot && (
        <p className="small" id={reasonId}>
          {whyNot}
        </p>
      )}
      <p role="status" className={refunded ? "small" : "visually-hidden"}>
        {refunded && `The refund of ${formatAmount(refunded)} is recorded. Its state is below.`}
      </p>
      <ActionDialog isOpen={isOpen} onClose={close}>
        <RefundForm payment={payment} reason={refundReason} onEnd={close} />
      </ActionDialog>
    </div>
  );
}

type Draft = { readonly amount: string; readonly reason: string; readonly refundRef: string };

// The service's messages for these codes are for programs.
const refusals = {
  idempotency_key_reused:
    "An earlier request of this form has arrived: its refund is recorded with the fields that you entered then. Close the form to see it.",
  amount_exceeds_refundable:
    "That is more than can still be refunded. Another refund was recorded meanwhile: close the form to see what is left.",
  payment_disputed: "A dispute was recorded meanwhile, which holds the money. Close the form to see what is left.",
  offline:
    "No answer arrived, so the refund may be recorded. Check your connection, then try again: this form never refunds twice.",
};

/** The form, then the question. The key is made when it opens, so however often it is sent, it is one refund. */
function RefundForm(props: { payment: Payment; reason: string | undefined; onEnd: (made?: PaymentAmount) => void }) {
  const { payment, onEnd } = props;
  const { merchantId, environment } = useScope();
  const { summary, amountRefundable: left } = payment;
  const client = useClient(PaymentService);
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [draft, setDraft] = useState<Draft>({
    amount: left ? typedOf(left) : "",
    reason: props.reason ?? "",
    refundRef: "",
  });
  const [isAsking, setAsking] = useState(false);
  const typed = left && readAmount(draft.amount, left);
  const amountMinor = typed?.type === "amount" ? typed.amountMinor : undefined;
  const refund = useMutation({
    mutationFn: () => {
      const { reason, refundRef } = draft;
      const request = { merchantId, environment, sessionId: summary?.sessionId ?? "", idempotencyKey };
      const fields = { ...(reason && { reason }), ...(refundRef && { refundRef }) };
      return client.refundPayment({ ...request, ...fields, ...(amountMinor && { amountMinor }) });
    },
    onSuccess: ({ refund }) => onEnd(refund?.amount),
  });
  if (!summary || !left) return null;
  const gateway = nameOfGateway(summary.capturedVia);
  // A device's number ends otherwise than the customer's card.
  const { cardBrand, cardLast4, wallet } = summary;
  const card = `${nameOfBrand(cardBrand)} ${wallet ? `of ${walletNames[wallet] ?? wallet}` : `ending in ${cardLast4}`}`;
  if (!isAsking || amountMinor === undefined)
    return (
      <DraftForm left={left} draft={draft} setDraft={setDraft} onNext={() => setAsking(true)} onCancel={() => onEnd()}>
        Up to {formatAmount(left)} can be refunded at {gateway}, to the {card}
        {payment.disputes.some(({ held }) => held) && "; a dispute holds the rest"}.
      </DraftForm>
    );
  const amount = formatAmount({ ...left, amountMinor });
  return (
    <>
      <Heading slot="title">
        Refund {amount} at {gateway}?
      </Heading>
      <p className="soft">
        {gateway} pays {amount} back to the {card}. A refund cannot be stopped.
      </p>
      <Refusal error={refund.error} texts={refusals} />
      <div className="row">
        <Button kind="danger" onPress={() => refund.isPending || refund.mutate()}>
          {refund.isPending ? "Refunding…" : `Refund ${amount}`}
        </Button>
        <FocusedButton onPress={() => refund.isPending || setAsking(false)}>Back</FocusedButton>
        <Button onPress={() => onEnd()}>Close</Button>
      </div>
    </>
  );
}

const reasons = [
  ["", "No reason"],
  ["requested_by_customer", "Requested by the customer"],
  ["duplicate", "Duplicate payment"],
  ["fraudulent", "Fraudulent"],
] as const;

function DraftForm(props: {
  left: PaymentAmount;
  draft: Draft;
  setDraft: (draft: Draft) => void;
  onNext: () => void;
  onCancel: () => void;
  children: ReactNode;
}) {
  const { left, draft, setDraft, onNext, onCancel, children } = props;
  const [wasSubmitted, setSubmitted] = useState(false);
  const problem = findPartProblem(draft.amount, left);
  return (
    <>
      <Heading slot="title">Refund</Heading>
      <p className="soft">{children}</p>
      <DataForm
        validationBehavior="aria"
        onData={() => {
          setSubmitted(true);
          if (problem === undefined) onNext();
        }}
      >
        <Field
          label={`Amount in ${left.currency}`}
          value={draft.amount}
          onChange={(amount) => setDraft({ ...draft, amount })}
          problem={wasSubmitted ? problem : undefined}
          inputMode="decimal"
          autoComplete="off"
          autoFocus
        />
        <SelectField
          label="Reason"
          value={draft.reason}
          onChange={({ target }) => setDraft({ ...draft, reason: target.value })}
          values={reasons}
        />
        <Field
          label="Your reference"
          hint="Optional, such as the number of the return. At most 80 characters."
          value={draft.refundRef}
          onChange={(refundRef) => setDraft({ ...draft, refundRef })}
          maxLength={80}
          autoComplete="off"
        />
        <div className="row">
          <Button kind="main" type="submit">
            Continue
          </Button>
          <Button onPress={onCancel}>Cancel</Button>
        </div>
      </DataForm>
    </>
  );
}
