/** The actions about a held payment: capture it, whole or in part, or cancel it. */
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import { type Payment, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { Attempt_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { ActionDialog, FocusedButton } from "../parts/action-dialog.tsx";
import { formatAmount } from "../parts/amount.tsx";
import { Button } from "../parts/button.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { findPartProblem, readAmount, typedOf } from "../parts/minor-units.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

type Order = "capture" | "cancel";

export function HoldActions({ payment, onChange }: { payment: Payment; onChange: () => unknown }) {
  const { role } = useScope();
  const [order, setOrder] = useState<Order>();
  const reasonId = useId();
  const isAllowed = includesRole(role, Role.SUPPORT);
  const why = isAllowed ? {} : { "aria-describedby": reasonId };
  const close = () => {
    setOrder(undefined);
    onChange();
  };
  return (
    <div className="payment-actions">
      <div className="row">
        <Button kind="main" isDisabled={!isAllowed} onPress={() => setOrder("capture")} {...why}>
          Capture
        </Button>
        <Button isDisabled={!isAllowed} onPress={() => setOrder("cancel")} {...why}>
          Cancel payment
        </Button>
      </div>
      <p className="small">
        Held until <Moment at={payment.summary?.heldUntil} />. Without a capture the payment ends as declined then.
      </p>
      {!isAllowed && (
        <p className="small" id={reasonId}>
          Support, developers and owners can capture and cancel.
        </p>
      )}
      <ActionDialog isOpen={order !== undefined} onClose={close}>
        {order && <OrderForm payment={payment} order={order} onEnd={close} />}
      </ActionDialog>
    </div>
  );
}

const refusals = {
  capture_already_ordered: "The capture was ordered meanwhile. Close the form to see it.",
  session_ended: "The payment has ended meanwhile. Close the form to see it.",
  offline:
    "No answer arrived, so the order may be recorded. Check your connection, then try again: nothing is captured twice.",
};

function OrderForm({ payment, order, onEnd }: { payment: Payment; order: Order; onEnd: () => void }) {
  const { merchantId, environment } = useScope();
  const { summary } = payment;
  const held = summary?.amount;
  const client = useClient(PaymentService);
  const [amount, setAmount] = useState(held ? typedOf(held) : "");
  const [reason, setReason] = useState("");
  const [isAsking, setAsking] = useState(false);
  const typed = held && readAmount(amount, held);
  const amountMinor = typed?.type === "amount" ? typed.amountMinor : undefined;
  const isCapture = order === "capture";
  const give = useMutation({
    mutationFn: async () => {
      const request = { merchantId, environment, sessionId: summary?.sessionId ?? "", reason };
      if (isCapture) await client.capturePayment({ ...request, ...(amountMinor && { amountMinor }) });
      else await client.cancelPayment(request);
    },
    onSuccess: onEnd,
    meta: { done: isCapture ? "The capture is ordered." : "The payment is cancelled. Its hold is released." },
  });
  if (!summary || !held) return null;
  // The holder may not be the last attempt: a look-up may have found the hold of an earlier one.
  const holder = payment.attempts.find(({ status }) => status === Attempt_Status.AUTHORIZED);
  const gateway = nameOfGateway(holder?.gateway ?? "");
  const whole = formatAmount(held);
  if (!isAsking || amountMinor === undefined)
    return (
      <>
        <Heading slot="title">{isCapture ? "Capture" : "Cancel the payment"}</Heading>
        <p className="soft">
          {isCapture
            ? `${gateway} holds ${whole}. It is captured once: what you leave out is released.`
            : `${gateway} holds ${whole}. Nothing is captured, and the hold is released.`}
        </p>
        <DraftForm
          held={held}
          amount={amount}
          setAmount={setAmount}
          reason={reason}
          setReason={setReason}
          isCapture={isCapture}
          onNext={() => setAsking(true)}
          onClose={onEnd}
        />
      </>
    );
  const rest = held.amountMinor - amountMinor;
  const what = isCapture ? `Capture ${formatAmount({ ...held, amountMinor })}` : `Cancel ${whole}`;
  return (
    <>
      <Heading slot="title">
        {what} at {gateway}?
      </Heading>
      <p className="soft">
        {isCapture
          ? `The amount cannot be changed afterwards.${rest > 0n ? ` The other ${formatAmount({ ...held, amountMinor: rest })} are released, and cannot be captured later.` : ""}`
          : "The payment ends as declined. This cannot be undone."}
      </p>
      <Refusal error={give.error} texts={refusals} />
      <div className="row">
        <Button kind={isCapture ? "main" : "danger"} onPress={() => give.isPending || give.mutate()}>
          {give.isPending ? "Ordering…" : what}
        </Button>
        <FocusedButton onPress={() => give.isPending || setAsking(false)}>Back</FocusedButton>
        <Button onPress={onEnd}>Close</Button>
      </div>
    </>
  );
}

function DraftForm(props: {
  held: NonNullable<NonNullable<Payment["summary"]>["amount"]>;
  amount: string;
  setAmount: (amount: string) => void;
  reason: string;
  setReason: (reason: string) => void;
  isCapture: boolean;
  onNext: () => void;
  onClose: () => void;
}) {
  const { held, amount, reason, isCapture, onNext, onClose } = props;
  const [wasSubmitted, setSubmitted] = useState(false);
  const problem = findPartProblem(amount, held);
  const hasReason = reason.trim() !== "";
  return (
    <DataForm
      validationBehavior="aria"
      onData={() => {
        setSubmitted(true);
        if (problem === undefined && hasReason) onNext();
      }}
    >
      {isCapture && (
        <Field
          label={`Amount in ${held.currency}`}
          value={amount}
          onChange={props.setAmount}
          problem={wasSubmitted ? problem : undefined}
          inputMode="decimal"
          autoComplete="off"
          autoFocus
        />
      )}
      <Field
        label="Reason"
        hint="For the audit trail, such as “shipped” or “out of stock”."
        value={reason}
        onChange={props.setReason}
        problem={wasSubmitted && !hasReason ? "Enter a reason." : undefined}
        maxLength={1000}
        autoComplete="off"
        autoFocus={!isCapture}
      />
      <div className="row">
        <Button kind="main" type="submit">
          Continue
        </Button>
        <Button onPress={onClose}>Close</Button>
      </div>
    </DataForm>
  );
}
