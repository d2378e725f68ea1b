/** The answers to a dispute: accept it, submit evidence, or record the end of one that stays silent. */

import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { Heading } from "react-aria-components/Dialog";
import { DisputeService, type GetDisputeOptionsResponse } from "../../../../gen/dashboard/v1/disputes_pb.ts";
import type { PaymentDispute } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  Dispute_Status,
  DisputeResponse_Status,
  DisputeResponse_Type,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { ActionDialog, FocusedButton } from "../parts/action-dialog.tsx";
import { formatAmount } from "../parts/amount.tsx";
import { Button } from "../parts/button.tsx";
import { DataForm, Field, SelectField } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";

type AnswerProps = { dispute: PaymentDispute; sessionId: string; onChange: () => unknown };
type Form = "accept" | "evidence" | "end" | "link";

/** Shows the responses so far, and the remaining actions. */
export function DisputeAnswer(props: AnswerProps) {
  const { dispute, onChange } = props;
  const { role } = useScope();
  const [form, setForm] = useState<Form>();
  const reasonId = useId();
  const { responses, silent, answerable, linkableRefundIds } = dispute;
  const mayLink = linkableRefundIds.length > 0;
  const last = responses.at(-1);
  const isAnswered = responses.some(({ stage, status }) => stage === dispute.stage && status !== refused);
  const mayAnswer = answerable && dispute.status === Dispute_Status.NEEDS_RESPONSE && !isAnswered && !silent;
  const needed = silent || mayLink ? Role.OWNER : Role.DEVELOPER;
  const disabled = !includesRole(role, needed) ? { isDisabled: true, "aria-describedby": reasonId } : {};
  const close = () => {
    setForm(undefined);
    onChange();
  };
  return (
    <>
      {last && <Answered dispute={dispute} response={last} />}
      {dispute.decidedBy && (
        <p className="small">
          {dispute.decidedBy} recorded its end: {dispute.decisionReason}
        </p>
      )}
      {dispute.linkedBy && (
        <p className="small">
          {dispute.linkedBy} recorded that the refund {dispute.linkedRefundId} settled it: {dispute.linkReason}
        </p>
      )}
      {(mayAnswer || silent || mayLink) && (
        <div className="row">
          {mayAnswer && (
            <>
              <Button kind="main" onPress={() => setForm("evidence")} {...disabled}>
                Submit evidence
              </Button>
              <Button onPress={() => setForm("accept")} {...disabled}>
                Accept
              </Button>
            </>
          )}
          {silent && (
            <Button onPress={() => setForm("end")} {...disabled}>
              Record its end
            </Button>
          )}
          {mayLink && (
            <Button onPress={() => setForm("link")} {...disabled}>
              Link refund
            </Button>
          )}
        </div>
      )}
      {(mayAnswer || silent || mayLink) && !includesRole(role, needed) && (
        <p className="small" id={reasonId}>
          {silent && "Owners can record the end of a dispute."}
          {mayAnswer && "Developers and owners can answer disputes."}
          {mayLink && "Owners can link the refund that settled a dispute."}
        </p>
      )}
      <ActionDialog isOpen={form !== undefined} onClose={close}>
        {form === "accept" && <AcceptForm {...props} onEnd={close} />}
        {form === "evidence" && <EvidenceForm {...props} onEnd={close} />}
        {form === "end" && <EndForm {...props} onEnd={close} />}
        {form === "link" && <LinkForm {...props} onEnd={close} />}
      </ActionDialog>
    </>
  );
}

const refused = DisputeResponse_Status.REFUSED;

function Answered({ dispute, response }: { dispute: PaymentDispute; response: PaymentDispute["responses"][number] }) {
  const { type, status, documents, failureCode = "", createdAt, answeredAt } = response;
  const what = type === DisputeResponse_Type.ACCEPT ? "The acceptance" : "The evidence";
  const gateway = nameOfGateway(dispute.gateway);
  const names = documents.map(({ name }) => name).join(", ");
  if (status === refused)
    return <p>{`${gateway} refused ${what.toLowerCase()} (${failureCode}). It has no effect.`}</p>;
  if (status === DisputeResponse_Status.REQUESTED)
    return (
      <p>
        {what} is on its way to {gateway}, since <Moment at={createdAt} />.
      </p>
    );
  return (
    <p>
      {gateway} has {what.toLowerCase()} since <Moment at={answeredAt} />
      {names && `: ${names}`}.
    </p>
  );
}

type FormProps = Omit<AnswerProps, "onChange"> & { onEnd: () => void };

function useAnswer({ dispute, sessionId }: FormProps) {
  const { merchantId, environment } = useScope();
  const client = createClient(DisputeService, useTransport());
  return { client, named: { merchantId, environment, sessionId, disputeId: dispute.disputeId } };
}

const offline =
  "No answer arrived, so your answer may be recorded. Check your connection, then try again: nothing is submitted twice.";

function AcceptForm(props: FormProps) {
  const { dispute, onEnd } = props;
  const { client, named } = useAnswer(props);
  const accept = useMutation({ mutationFn: () => client.acceptDispute(named), onSuccess: onEnd });
  const amount = dispute.amount ? formatAmount(dispute.amount) : "the amount";
  return (
    <>
      <Heading slot="title">Accept the dispute of {amount}?</Heading>
      <p className="soft">
        You give up {amount} for good, and the dispute ends against you. It counts towards the refunds of your role
        today. The gateway’s fee stays.
      </p>
      <Refusal error={accept.error} texts={{ offline }} />
      <div className="row">
        <Button kind="danger" onPress={() => accept.isPending || accept.mutate()}>
          {accept.isPending ? "Accepting…" : `Give up ${amount}`}
        </Button>
        <FocusedButton onPress={onEnd}>Cancel</FocusedButton>
      </div>
    </>
  );
}

function EvidenceForm(props: FormProps) {
  const { named } = useAnswer(props);
  const { data, error, refetch } = useQuery(DisputeService.method.getDisputeOptions, named, { staleTime: 0 });
  const gateway = nameOfGateway(props.dispute.gateway);
  return (
    <>
      <Heading slot="title">Submit evidence</Heading>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="what the gateway takes" />}
      {data && data.options?.defenses.length === 0 && (
        <>
          <p className="soft">{gateway} takes no evidence for this dispute now.</p>
          <div className="row">
            <FocusedButton onPress={props.onEnd}>Close</FocusedButton>
          </div>
        </>
      )}
      {data && data.options?.defenses.length !== 0 && <EvidenceFields {...props} options={data} reload={refetch} />}
    </>
  );
}

type Draft = {
  readonly explanation: string;
  readonly carrier: string;
  readonly trackingNumber: string;
  readonly shippedOn: string;
};
const empty: Draft = { explanation: "", carrier: "", trackingNumber: "", shippedOn: "" };
const facts = { fileId: "facts", name: "Facts of the payment" };

function EvidenceFields(props: FormProps & { options: GetDisputeOptionsResponse; reload: () => unknown }) {
  const { dispute, onEnd, options, reload } = props;
  const { client, named } = useAnswer(props);
  const defenses = options.options?.defenses ?? [];
  const [code, setCode] = useState(defenses[0]?.code ?? "");
  const [draft, setDraft] = useState(empty);
  const [types, setTypes] = useState<Readonly<Record<string, string>>>({});
  const [isAsking, setAsking] = useState(false);
  const { explanation, carrier, trackingNumber, shippedOn } = draft;
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const documentTypes = defenses.find((one) => (one.code ?? "") === code)?.documentTypes ?? [];
  const stored = [facts, ...options.files];
  const files = stored.flatMap(({ fileId }) => (types[fileId] ? [{ file: fileId, type: types[fileId] }] : []));
  const isShipped = carrier !== "" || trackingNumber !== "" || shippedOn !== "";
  const submit = useMutation({
    mutationFn: () =>
      client.submitEvidence({
        ...named,
        evidence: {
          ...(code && { defense: code }),
          ...(explanation && { explanation }),
          ...(isShipped && { shipping: { carrier, trackingNumber, shippedOn } }),
          files,
        },
      }),
    onSuccess: onEnd,
  });
  const gateway = nameOfGateway(dispute.gateway);
  if (isAsking)
    return (
      <>
        <p className="soft">
          {gateway} gets {explanation ? "your explanation" : "no explanation"}
          {isShipped && ", the shipping"} and {files.length === 1 ? "1 file" : `${files.length} files`}. Evidence is
          final: it cannot be changed afterwards.
        </p>
        <Refusal error={submit.error} texts={{ offline }} />
        <div className="row">
          <Button kind="main" onPress={() => submit.isPending || submit.mutate()}>
            {submit.isPending ? "Submitting…" : "Submit for good"}
          </Button>
          <FocusedButton onPress={() => submit.isPending || setAsking(false)}>Back</FocusedButton>
        </div>
      </>
    );
  return (
    <DataForm validationBehavior="aria" onData={() => setAsking(true)}>
      {defenses.length > 1 && (
        <SelectField
          label="Defense"
          value={code}
          values={defenses.map((one) => [one.code ?? "", one.code ?? ""])}
          onChange={({ target }) => setCode(target.value)}
        />
      )}
      <Explanation
        text={explanation}
        isPrinted={options.options?.takesExplanation === false}
        onChange={(text) => set({ explanation: text })}
      />
      <Field label="Carrier" value={carrier} maxLength={100} onChange={(text) => set({ carrier: text })} />
      <Field
        label="Tracking number"
        value={trackingNumber}
        maxLength={100}
        onChange={(text) => set({ trackingNumber: text })}
      />
      <Field label="Shipped on" type="date" value={shippedOn} onChange={(text) => set({ shippedOn: text })} />
      <Files {...props} reload={reload} />
      {stored.map(({ fileId, name }) => (
        <SelectField
          key={fileId}
          label={name}
          value={types[fileId] ?? ""}
          values={[
            ["", "Choose a type to send it"],
            ...documentTypes.map(({ type }): [string, string] => [type, nameOfType(type)]),
          ]}
          onChange={({ target }) => setTypes((before) => ({ ...before, [fileId]: target.value }))}
        />
      ))}
      <div className="row">
        <Button kind="main" type="submit">
          Continue
        </Button>
        <Button onPress={onEnd}>Cancel</Button>
      </div>
    </DataForm>
  );
}

function nameOfType(type: string): string {
  const words = type.replaceAll("_", " ").toLowerCase();
  return /[a-z][A-Z]/.test(type) ? type : words.charAt(0).toUpperCase() + words.slice(1);
}

function Explanation(props: { text: string; isPrinted: boolean; onChange: (text: string) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Explanation for the bank</label>
      <textarea
        id={id}
        rows={4}
        maxLength={2000}
        value={props.text}
        onChange={({ target }) => props.onChange(target.value)}
        aria-describedby={`${id}-hint`}
      />
      <span className="hint" id={`${id}-hint`}>
        {props.isPrinted
          ? "This gateway receives it as the last page of the facts, so send the facts too."
          : "At most 2,000 characters."}{" "}
        Leave out card numbers.
      </span>
    </div>
  );
}

/** Stores a file, and saves the facts to look at. */
function Files(props: FormProps & { reload: () => unknown }) {
  const { client, named } = useAnswer(props);
  const id = useId();
  const add = useMutation({
    mutationFn: async (file: File) => {
      const content = new Uint8Array(await file.arrayBuffer());
      await client.addDisputeFile({ ...named, file: { name: file.name, contentType: file.type, content } });
      await props.reload();
    },
  });
  const save = useMutation({
    mutationFn: async () => {
      const { facts: made } = await client.getDisputeFacts(named);
      const blob = new Blob([new Uint8Array(made?.content ?? [])], { type: "application/pdf" });
      const href = URL.createObjectURL(blob);
      Object.assign(document.createElement("a"), { href, download: made?.name ?? "facts.pdf" }).click();
      URL.revokeObjectURL(href);
    },
  });
  return (
    <>
      <div className="field">
        <label htmlFor={id}>Add a file</label>
        <input
          id={id}
          type="file"
          accept="application/pdf,image/jpeg"
          disabled={add.isPending}
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file) add.mutate(file);
            target.value = "";
          }}
        />
        <span className="hint" id={`${id}-hint`} role="status">
          {add.isPending
            ? "Storing…"
            : add.isSuccess
              ? `${add.variables.name} was added. Choose its type below.`
              : "PDF or JPEG, at most 2 MiB; 5 files, 4 MiB together."}
        </span>
      </div>
      <div className="row">
        <Button onPress={() => save.mutate()} isPending={save.isPending}>
          Download the facts
        </Button>
      </div>
      <Refusal error={add.error ?? save.error} />
    </>
  );
}

function EndForm(props: FormProps) {
  const { client, named } = useAnswer(props);
  return (
    <ReasonForm
      title="Record the end of the dispute"
      submit={["Record", "Recording…"]}
      onSubmit={(end, reason) => client.decideDispute({ ...named, won: end === "won", reason })}
      onEnd={props.onEnd}
      choice={
        <SelectField
          label="It was"
          name="choice"
          values={[
            ["lost", "Lost"],
            ["won", "Won"],
          ]}
        />
      }
    >
      Look it up at {nameOfGateway(props.dispute.gateway)} first. Won: the money is there, and can be refunded. Lost: it
      is gone. A later report of the gateway outweighs what you record.
    </ReasonForm>
  );
}

function LinkForm(props: FormProps) {
  const { gateway, linkableRefundIds } = props.dispute;
  const { client, named } = useAnswer(props);
  return (
    <ReasonForm
      title="Link the refund that settled the dispute"
      kind="danger"
      submit={["Link for good", "Linking…"]}
      onSubmit={(refundId, reason) => client.linkDisputeRefund({ ...named, refundId, reason })}
      onEnd={props.onEnd}
      choice={<SelectField label="Refund" name="choice" values={linkableRefundIds.map((id) => [id, id])} />}
    >
      Check at {nameOfGateway(gateway)} that it took the money once. Refund and dispute then count once, and the rest of
      the payment can be refunded. This cannot be undone.
    </ReasonForm>
  );
}

/** A choice that a member records with its reason. `choice` is the field named so. */
function ReasonForm(props: {
  title: string;
  children: ReactNode;
  choice: ReactNode;
  kind?: "main" | "danger";
  submit: readonly [string, string];
  onSubmit: (choice: string, reason: string) => Promise<unknown>;
  onEnd: () => void;
}) {
  const { title, children, choice, kind = "main", submit, onSubmit, onEnd } = props;
  const reasonId = useId();
  const record = useMutation({
    mutationFn: (fields: FormData) => onSubmit(String(fields.get("choice")), String(fields.get("reason"))),
    onSuccess: onEnd,
  });
  return (
    <>
      <Heading slot="title">{title}</Heading>
      <p className="soft">{children}</p>
      <DataForm onData={(fields) => record.isPending || record.mutate(fields)}>
        {choice}
        <div className="field">
          <label htmlFor={reasonId}>How you found out</label>
          <textarea id={reasonId} name="reason" rows={3} maxLength={1000} required />
        </div>
        <Refusal error={record.error} />
        <div className="row">
          <Button kind={kind} type="submit">
            {submit[record.isPending ? 1 : 0]}
          </Button>
          <Button onPress={onEnd}>Cancel</Button>
        </div>
      </DataForm>
    </>
  );
}
