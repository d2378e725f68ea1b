/** Invites a person to a merchant's team. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Form } from "react-aria-components/Form";
import { type Invitation, MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { Button } from "../parts/button.tsx";
import { CopyLine } from "../parts/copy-line.tsx";
import { Field, SelectField } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { liveRoles, nameOfRole, rolesWith, testRoles, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

const firstRoles: { role: Role; liveRole: Role } = { role: Role.VIEWER, liveRole: Role.VIEWER };

/** The form. The link is mailed to the address, or shown if the installation sends no mail, until it is revoked. */
export function InviteForm({ onInvited, open }: { onInvited: () => unknown; open: readonly Invitation[] }) {
  const { merchantId } = useScope();
  const [roles, setRoles] = useState(firstRoles);
  const client = useClient(MemberService);
  const invite = useMutation({
    mutationFn: (wanted: { email: string; role: Role; liveRole: Role }) =>
      client.inviteMember({ merchantId, ...wanted }),
    onSuccess: onInvited,
  });
  const isOpen = open.some(({ invitationId }) => invitationId === invite.data?.invitation?.invitationId);
  const made = isOpen ? invite.data : undefined;
  const submit = (form: HTMLFormElement) => {
    const fields = new FormData(form);
    invite.mutate(
      { email: String(fields.get("email")), ...roles },
      {
        onSuccess: () => {
          form.reset();
          setRoles(firstRoles);
        },
      },
    );
  };
  return (
    <section className="card" aria-labelledby="invite">
      <h2 id="invite">Invite a person</h2>
      <Refusal error={invite.error} />
      {made && (
        <p className="banner" data-tone="good" role="status">
          {made.unmailedLink === ""
            ? `The invitation was sent to ${made.invitation?.email}.`
            : "The invitation is ready. This installation sends no mail, so pass the link on yourself."}
        </p>
      )}
      {made?.unmailedLink && (
        <CopyLine
          label={`Invitation link for ${made.invitation?.email}`}
          text={made.unmailedLink}
          hint="Shown once. Anyone with the link can join as this member. It works once, within seven days."
        />
      )}
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
      >
        <Field label="E-mail" name="email" type="email" isRequired autoComplete="off" />
        <SelectField
          label="Role in test"
          value={roles.role}
          onChange={({ target }) => setRoles(rolesWith(roles, { role: Number(target.value) as Role }))}
          values={testRoles.map((role) => [role, nameOfRole(role)] as const)}
        />
        <SelectField
          label="Role in live"
          value={roles.liveRole}
          onChange={({ target }) => setRoles(rolesWith(roles, { liveRole: Number(target.value) as Role }))}
          values={liveRoles.map((role) => [role, nameOfRole(role)] as const)}
          hint="Owners have the role in both environments."
        />
        <div>
          <Button kind="main" type="submit" isPending={invite.isPending}>
            Invite
          </Button>
        </div>
      </Form>
    </section>
  );
}
