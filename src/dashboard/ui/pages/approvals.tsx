/** Calls that wait for a second person: what they change, and the decision about them. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import {
  type Approval,
  Approval_Status,
  ApprovalDecisionService,
  ApprovalService,
  type ApproveCallResponse,
} from "../../../../gen/dashboard/v1/approvals_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { inWords } from "../parts/action-words.ts";
import { Badge } from "../parts/badge.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { nameGatewaysIn } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { Moment } from "../parts/time.tsx";
import { nameOfRole, useScope } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";

/** Returns the calls that wait and those that were decided about; nothing in test. `everyMs`: how often they are loaded. */
export function useApprovals(everyMs?: number) {
  const { merchantId, environment, environmentName } = useScope();
  const options = { enabled: environmentName === "live", ...(everyMs !== undefined && { refetchInterval: everyMs }) };
  return useQuery(ApprovalService.method.listApprovals, { merchantId, environment }, options).data;
}

/** The calls that wait; nothing where none does. */
export function WaitingApprovals({ everyMs }: { everyMs: number }) {
  const { merchantId, environment } = useScope();
  const queries = useQueryClient();
  const client = useClient(ApprovalDecisionService);
  const list = useApprovals(everyMs);
  const approve = useMutation({
    mutationFn: (approvalId: string) => client.approveCall({ merchantId, environment, approvalId }),
    onSettled: () => queries.invalidateQueries(),
    meta: { done: "The change is approved and made." },
  });
  const waiting = list?.waiting ?? [];
  const { secrets = [], notes = [] } = approve.data ?? {};
  if (waiting.length === 0 && secrets.length + notes.length === 0 && !approve.error) return null;
  const count = waiting.length === 0 ? "No change waits" : `${waiting.length} changes wait`;
  return (
    <section className="card alerts" aria-labelledby="approvals">
      <h2 id="approvals">{waiting.length === 1 ? "1 change waits" : count} for a second person</h2>
      <Refusal error={approve.error} />
      <Outcome secrets={secrets} notes={notes} />
      <ul>
        {waiting.map((approval) => (
          <li key={approval.approvalId}>
            <Waiting approval={approval} isPending={approve.isPending} onApprove={approve.mutate} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Outcome({ secrets, notes }: Pick<ApproveCallResponse, "secrets" | "notes">) {
  return (
    <>
      {notes.length > 0 && (
        <p className="banner" data-tone="warn" role="alert">
          {notes.join(" ")}
        </p>
      )}
      {secrets.map(({ name, value }) => (
        <ShownSecret key={name} label={name} secret={value} />
      ))}
    </>
  );
}

type WaitingProps = {
  readonly approval: Approval;
  readonly isPending: boolean;
  readonly onApprove: (approvalId: string) => void;
};

function Waiting({ approval, isPending, onApprove }: WaitingProps) {
  const { approvalId, status, method, sentences, requestedBy, expiresAt, role } = approval;
  const { role: held } = useScope();
  const isOwn = useSignIn().member?.memberId === approval.requestedByMemberId;
  const isOutdated = status === Approval_Status.OUTDATED;
  const mayDecide = !isOwn && includesRole(held, role);
  return (
    <>
      <Badge tone="warn">{isOutdated ? "Outdated" : "Waits"}</Badge>
      <div>
        <p>
          <strong>{inWords(method)}</strong>
        </p>
        <Sentences of={sentences} />
        <p className="soft small">
          Requested by <bdi>{requestedBy}</bdi>.{" "}
          {isOutdated ? (
            "This was changed meanwhile, so it has to be requested again."
          ) : (
            <>
              Expires <Moment at={expiresAt} />.
            </>
          )}
          {!isOwn && !mayDecide && ` A member with the role ${nameOfRole(role)} in live can decide.`}
        </p>
      </div>
      <div className="row">
        {mayDecide && !isOutdated && (
          <Confirm
            isMain
            action="Approve"
            title="Approve this change of live?"
            isPending={isPending}
            onConfirm={() => onApprove(approvalId)}
          >
            <Sentences of={sentences} />
            <p>The change takes effect immediately, in the name of {requestedBy}.</p>
          </Confirm>
        )}
        {mayDecide && <Close approvalId={approvalId} action="Reject" />}
        {isOwn && <Close approvalId={approvalId} action="Withdraw" />}
      </div>
    </>
  );
}

function Sentences({ of: sentences }: { of: readonly string[] }) {
  return sentences.map((sentence) => (
    <p key={sentence}>
      <bdi>{visible(nameGatewaysIn(sentence))}</bdi>
    </p>
  ));
}

function Close({ approvalId, action }: { approvalId: string; action: "Reject" | "Withdraw" }) {
  const { merchantId, environment } = useScope();
  const queries = useQueryClient();
  const client = useClient(ApprovalDecisionService);
  const request = { merchantId, environment, approvalId };
  const close = useMutation({
    mutationFn: async () => {
      if (action === "Reject") await client.rejectCall(request);
      else await client.withdrawCall(request);
    },
    onSettled: () => queries.invalidateQueries(),
    meta: { done: action === "Reject" ? "The change is rejected." : "The change is withdrawn." },
  });
  return (
    <>
      <Confirm action={action} title={`${action} this change?`} runs={close}>
        Nothing is changed. {action === "Reject" && "The member can request it again."}
      </Confirm>
      <Refusal error={close.error} />
    </>
  );
}

const outcomes: Readonly<Record<number, string>> = {
  [Approval_Status.REJECTED]: "Rejected",
  [Approval_Status.WITHDRAWN]: "Withdrawn",
  [Approval_Status.EXPIRED]: "Ended without a decision",
  [Approval_Status.OUTDATED]: "Outdated by another change",
};

/** The newest decisions. */
export function ClosedApprovals() {
  const data = useApprovals();
  if (!data || data.closed.length === 0) return <p>No change has waited yet.</p>;
  return (
    <ul className="stack">
      {data.closed.map(({ approvalId, status, ran, method, requestedBy, decidedBy, endedAt }) => (
        <li key={approvalId}>
          <strong>{inWords(method)}</strong>
          <div className="soft small">
            Requested by <bdi>{requestedBy}</bdi>.{" "}
            {outcomes[status] ?? (ran ? "Approved" : "Approved, but the outcome is not known: see the audit trail")}
            {decidedBy && (
              <>
                {" "}
                by <bdi>{decidedBy}</bdi>
              </>
            )}
            , <Moment at={endedAt} />.
          </div>
        </li>
      ))}
    </ul>
  );
}
