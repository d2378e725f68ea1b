/** A merchant's team: its members, their roles, and open invitations. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { type Invitation, type Member, MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { useProof } from "../parts/prove.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { nameOfRole, useScope } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { InviteForm } from "./invite-form.tsx";

/** The page. */
export function TeamPage() {
  const { merchantId, role, merchantName } = useScope();
  const { data, error, refetch } = useQuery(MemberService.method.listMembers, { merchantId });
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Team</h1>
          <p>
            Members work on {merchantName} in both test and live. Viewers read, developers change routing and webhooks,
            owners manage keys, gateways and the team.
          </p>
        </div>
      </header>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The team" />}
      {data && <Members members={data.members} onChange={refetch} />}
      {data && data.invitations.length > 0 && <Invitations invitations={data.invitations} onChange={refetch} />}
      {role >= Role.OWNER && <InviteForm onInvited={refetch} open={data?.invitations ?? []} />}
    </>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Member" },
  { name: "Role" },
  { name: "Authenticator app" },
  { name: "Last seen" },
  { name: "Actions", isHidden: true },
];

type MemberProps = { member: Member; onChange: () => unknown };

function Members({ members, onChange }: { members: readonly Member[]; onChange: () => unknown }) {
  const rows = members.map((member) => ({
    key: member.memberId,
    cells: [
      <Name key="name" member={member} />,
      <RoleChoice key="role" member={member} onChange={onChange} />,
      <span key="totp" className="badge" data-tone={member.hasTotp ? "good" : "warn"}>
        {member.hasTotp ? "On" : "Off"}
      </span>,
      <Moment key="seen" at={member.lastSeenAt} />,
      <Removal key="remove" member={member} onChange={onChange} />,
    ],
  }));
  return <RecordTable label="Members" columns={columns} rows={rows} />;
}

function Name({ member: { memberId, name, email } }: { member: Member }) {
  const isSelf = useSignIn().member?.memberId === memberId;
  return (
    <>
      {name} {isSelf && <span className="badge">You</span>}
      <div className="soft small">{email}</div>
    </>
  );
}

function RoleChoice({ member: { memberId, name, role: current }, onChange }: MemberProps) {
  const { merchantId, role } = useScope();
  const client = createClient(MemberService, useTransport());
  const { run, dialog } = useProof();
  const change = useMutation({
    mutationFn: (wanted: Role) => run(() => client.changeMemberRole({ merchantId, memberId, role: wanted })),
    onSuccess: onChange,
    meta: { done: `The role of ${name} is changed.` },
  });
  if (role < Role.OWNER) return nameOfRole(current);
  return (
    <div className="field">
      <select
        aria-label={`Role of ${name}`}
        value={current}
        disabled={change.isPending}
        onChange={(event) => change.mutate(Number(event.target.value) as Role)}
      >
        {[Role.VIEWER, Role.DEVELOPER, Role.OWNER].map((each) => (
          <option key={each} value={each}>
            {nameOfRole(each)}
          </option>
        ))}
      </select>
      <Refusal error={change.error} />
      {dialog}
    </div>
  );
}

function Removal({ member: { memberId, name, email }, onChange }: MemberProps) {
  const { merchantId, merchantName, role } = useScope();
  const client = createClient(MemberService, useTransport());
  const { run, dialog } = useProof();
  const remove = useMutation({
    mutationFn: () => run(() => client.removeMember({ merchantId, memberId })),
    onSuccess: onChange,
    meta: { done: `${name} is no longer a member.` },
  });
  if (role < Role.OWNER) return null;
  return (
    <>
      <Confirm action="Remove" title={`Remove ${name}?`} onConfirm={() => remove.mutate()} isPending={remove.isPending}>
        {email} immediately loses access to {merchantName}.
      </Confirm>
      <Refusal error={remove.error} />
      {dialog}
    </>
  );
}

function Invitations({ invitations, onChange }: { invitations: readonly Invitation[]; onChange: () => unknown }) {
  const { merchantId, role } = useScope();
  const client = createClient(MemberService, useTransport());
  const revoke = useMutation({
    mutationFn: (invitationId: string) => client.revokeInvitation({ merchantId, invitationId }),
    onSuccess: onChange,
    meta: { done: "The invitation is revoked. Its link no longer works." },
  });
  return (
    <section className="card" aria-labelledby="invitations">
      <h2 id="invitations">Invited</h2>
      <Refusal error={revoke.error} />
      <ul className="form">
        {invitations.map(({ invitationId, email, role: invitedTo, expiresAt }) => (
          <li className="page-head" key={invitationId}>
            <div>
              {email} <span className="badge">{nameOfRole(invitedTo)}</span>
              <div className="soft small">
                The link works until <Moment at={expiresAt} />
              </div>
            </div>
            {role >= Role.OWNER && (
              <Button onPress={() => revoke.mutate(invitationId)} aria-label={`Revoke the invitation of ${email}`}>
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
