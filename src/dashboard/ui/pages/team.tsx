/** A merchant's team: its members, their roles, and open invitations. */
import { createConnectQueryKey, useQuery } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Invitation, type Member, MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm, ConfirmDialog } from "../parts/confirm.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { liveRoles, nameOfRole, nameOfRoles, rolesWith, testRoles, useScope } from "../scope.ts";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";
import { InviteForm } from "./invite-form.tsx";

export function TeamPage() {
  const { merchantId, role, merchantName } = useScope();
  const { data, error, refetch } = useQuery(MemberService.method.listMembers, { merchantId });
  return (
    <>
      <PageHead title="Team">
        Each member of {merchantName} has a role in test and one in live. Viewers read. Support also refunds, captures
        and cancels. Developers also change routing and webhooks. Owners also manage keys, gateways and the team.
      </PageHead>
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The team" />}
      {data && <Members members={data.members} onChange={refetch} />}
      {data && data.invitations.length > 0 && <Invitations invitations={data.invitations} onChange={refetch} />}
      {includesRole(role, Role.OWNER) && data && <InviteForm onInvited={refetch} open={data.invitations} />}
    </>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Member" },
  { name: "Role in test" },
  { name: "Role in live" },
  { name: "Second factor" },
  { name: "Last seen" },
  { name: "Actions", isHidden: true },
];

type MemberProps = { member: Member; onChange: () => unknown };

function Members({ members, onChange }: { members: readonly Member[]; onChange: () => unknown }) {
  const { role } = useScope();
  const owners = members.filter((member) => member.role === Role.OWNER);
  const rows = members.map((member) => {
    const isOnlyOwner = member.role === Role.OWNER && owners.length === 1;
    return {
      key: member.memberId,
      cells: [
        <Name key="name" member={member} />,
        ...(["role", "liveRole"] as const).map((part) =>
          !includesRole(role, Role.OWNER) || isOnlyOwner || member.rolesFrom !== "" ? (
            <RoleText key={part} role={member[part]} from={member.rolesFrom} />
          ) : (
            <RoleChoice key={`${part} ${member[part]}`} part={part} member={member} onChange={onChange} />
          ),
        ),
        <SecondFactor key="factor" member={member} />,
        <Moment key="seen" at={member.lastSeenAt} />,
        includesRole(role, Role.OWNER) && !isOnlyOwner && <Removal key="remove" member={member} onChange={onChange} />,
      ],
    };
  });
  // If no row has an action, there is no column for them.
  const hasActions = includesRole(role, Role.OWNER) && members.length > 1;
  return <RecordTable label="Members" columns={hasActions ? columns : columns.slice(0, -1)} rows={rows} />;
}

function RoleText({ role, from }: { role: Role; from: string }) {
  return (
    <>
      {nameOfRole(role)}
      {from !== "" && <div className="soft small">Set by {from}</div>}
    </>
  );
}

function SecondFactor({ member: { hasTotp, hasPasskey } }: { member: Member }) {
  const factors = [...(hasTotp ? ["App"] : []), ...(hasPasskey ? ["Passkey"] : [])];
  return <Badge tone={factors.length > 0 ? "good" : "warn"}>{factors.join(", ") || "None"}</Badge>;
}

function useIsSelf(memberId: string): boolean {
  return useSignIn().member?.memberId === memberId;
}

function Name({ member: { memberId, name, email } }: { member: Member }) {
  return (
    <>
      {name} {useIsSelf(memberId) && <span className="badge">You</span>}
      <div className="soft small">{email}</div>
    </>
  );
}

function RoleChoice({ part, member, onChange }: MemberProps & { part: "role" | "liveRole" }) {
  const { memberId, name } = member;
  const current = member[part];
  const environment = part === "role" ? "test" : "live";
  const { merchantId } = useScope();
  const client = useClient(MemberService);
  const isSelf = useIsSelf(memberId);
  const queries = useQueryClient();
  const [wanted, setWanted] = useState<Role>();
  const change = useMutation({
    mutationFn: (role: Role) =>
      client.changeMemberRole({ merchantId, memberId, ...rolesWith(member, { [part]: role }) }),
    // One's own rights are part of the sign-in.
    onSuccess: () => (isSelf ? queries.invalidateQueries() : onChange()),
    meta: { done: `The role of ${name} is changed.` },
  });
  return (
    <div className="field">
      <select
        aria-label={`Role of ${name} in ${environment}`}
        value={current}
        disabled={change.isPending}
        onChange={({ target }) => {
          const role = Number(target.value) as Role;
          // Only an owner changes roles. An owner who changes their own gives it up in test and live at once.
          if (isSelf) setWanted(role);
          else change.mutate(role);
        }}
      >
        {(part === "role" ? testRoles : liveRoles).map((each) => (
          <option key={each} value={each}>
            {nameOfRole(each)}
          </option>
        ))}
      </select>
      <ConfirmDialog
        isOpen={wanted !== undefined}
        onClose={() => setWanted(undefined)}
        action="Change my role"
        title={`Change your own role to ${nameOfRole(wanted ?? current)}?`}
        onConfirm={() => wanted !== undefined && change.mutate(wanted)}
      >
        You immediately lose the rights of an owner in test and live. Another owner can restore them.
      </ConfirmDialog>
      <Refusal error={change.error} />
    </div>
  );
}

function Removal({ member: { memberId, name, email }, onChange }: MemberProps) {
  const { merchantId, merchantName } = useScope();
  const client = useClient(MemberService);
  const isSelf = useIsSelf(memberId);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => client.removeMember({ merchantId, memberId }),
    onSuccess: async () => {
      if (!isSelf) return onChange();
      // The start page leads to the merchants of the sign-in, which must no longer have this one.
      const schema = SignInService.method.getCurrentSignIn;
      await queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: "finite" }) });
      await navigate({ to: "/" });
    },
    meta: { done: isSelf ? `You have left ${merchantName}.` : `${name} is no longer a member.` },
  });
  return (
    <>
      <Confirm
        action={isSelf ? "Leave" : "Remove"}
        title={isSelf ? `Leave ${merchantName}?` : `Remove ${name}?`}
        runs={remove}
      >
        {isSelf
          ? `You immediately lose access to ${merchantName} in test and live. Another owner can invite you again.`
          : `${email} immediately loses access to ${merchantName}, and gets no more alerts about it.`}
      </Confirm>
      <Refusal error={remove.error} />
    </>
  );
}

function Invitations({ invitations, onChange }: { invitations: readonly Invitation[]; onChange: () => unknown }) {
  const { merchantId, role } = useScope();
  const client = useClient(MemberService);
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
        {invitations.map(({ invitationId, email, expiresAt, ...invited }) => (
          <li className="page-head" key={invitationId}>
            <div>
              {email} <span className="badge">{nameOfRoles(invited)}</span>
              <div className="soft small">
                The link works until <Moment at={expiresAt} />
              </div>
            </div>
            {includesRole(role, Role.OWNER) && (
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
