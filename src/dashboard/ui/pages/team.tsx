/** A merchant's team: its members, their roles, and open invitations. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { type Invitation, type Member, MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
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
      {role >= Role.OWNER && <InviteForm onInvited={refetch} />}
    </>
  );
}

function Members({ members, onChange }: { members: readonly Member[]; onChange: () => unknown }) {
  return (
    <TableScroll label="Members">
      <table>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Role</th>
            <th scope="col">Authenticator app</th>
            <th scope="col">Last seen</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow key={member.memberId} member={member} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function MemberRow({ member, onChange }: { member: Member; onChange: () => unknown }) {
  const { merchantId, merchantName, role } = useScope();
  const isSelf = useSignIn().member?.memberId === member.memberId;
  const client = createClient(MemberService, useTransport());
  const { run, dialog } = useProof();
  const of = { merchantId, memberId: member.memberId };
  const change = useMutation({
    mutationFn: (wanted: Role) => run(() => client.changeMemberRole({ ...of, role: wanted })),
    onSuccess: onChange,
    meta: { done: `The role of ${member.name} is changed.` },
  });
  const remove = useMutation({
    mutationFn: () => run(() => client.removeMember(of)),
    onSuccess: onChange,
    meta: { done: `${member.name} is no longer a member.` },
  });
  return (
    <tr>
      <th scope="row">
        {member.name} {isSelf && <span className="badge">You</span>}
        <div className="soft small">{member.email}</div>
        <Refusal error={change.error ?? remove.error} />
        {dialog}
      </th>
      <td className="field">
        {role >= Role.OWNER ? (
          <select
            aria-label={`Role of ${member.name}`}
            value={member.role}
            disabled={change.isPending}
            onChange={(event) => change.mutate(Number(event.target.value) as Role)}
          >
            {[Role.VIEWER, Role.DEVELOPER, Role.OWNER].map((each) => (
              <option key={each} value={each}>
                {nameOfRole(each)}
              </option>
            ))}
          </select>
        ) : (
          nameOfRole(member.role)
        )}
      </td>
      <td>
        {member.hasTotp ? (
          <span className="badge" data-tone="good">
            On
          </span>
        ) : (
          <span className="badge" data-tone="warn">
            Off
          </span>
        )}
      </td>
      <td>
        <Moment at={member.lastSeenAt} />
      </td>
      <td>
        {role >= Role.OWNER && (
          <Confirm
            action="Remove"
            title={`Remove ${member.name}?`}
            onConfirm={() => remove.mutate()}
            isPending={remove.isPending}
          >
            {member.email} immediately loses access to {merchantName}.
          </Confirm>
        )}
      </td>
    </tr>
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
