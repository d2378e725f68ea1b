import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationSchema, MemberSchema } from "../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { SignedInMemberSchema } from "../../gen/dashboard/v1/sign_in_pb.ts";
import type { Invitation } from "../accounts/invitations.ts";
import { type LiveRole, type MemberRole, type MerchantMember, memberRoles, type Roles } from "../accounts/members.ts";
import type { SignIn } from "../accounts/sign-ins.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";

export function roleMessage(role: LiveRole): Role {
  return Role[role];
}

/** Returns the role of a request; validation admits no other. */
function roleOfMessage(role: Role): MemberRole {
  const found = memberRoles.find((name) => Role[name] === role);
  if (found === undefined) throw new Error("validation admits only the roles of members");
  return found;
}

/** Returns the roles of a request. Throws `invalid_field` for an owner of one environment alone. */
export function rolesOfMessage(wanted: { readonly role: Role; readonly liveRole: Role }): Roles {
  const liveRole: LiveRole = wanted.liveRole === Role.NONE ? "NONE" : roleOfMessage(wanted.liveRole);
  const roles = { role: roleOfMessage(wanted.role), liveRole };
  if ((roles.role === "OWNER") !== (roles.liveRole === "OWNER")) {
    const detail = "An owner is one in test and live. Choose Owner for both, or for neither.";
    throw new DomainError("invalid_field", detail, { field: "liveRole" });
  }
  return roles;
}

function rolesMessage({ role, liveRole }: Roles) {
  return { role: roleMessage(role), liveRole: roleMessage(liveRole) };
}

export function memberMessage({ member, memberships }: Pick<SignIn, "member" | "memberships">) {
  const { id, email, name, hasTotp, hasPasskey } = member;
  return create(SignedInMemberSchema, {
    memberId: encodeId("mbr", id),
    email,
    name,
    hasTotp,
    hasPasskey,
    memberships: memberships.map(({ merchantId, merchantName, ...roles }) => ({
      merchantId: encodeId("mer", merchantId),
      merchantName,
      ...rolesMessage(roles),
    })),
  });
}

export function teamMessage({ id, email, name, hasTotp, hasPasskey, lastSeenAt, source, ...roles }: MerchantMember) {
  return create(MemberSchema, {
    memberId: encodeId("mbr", id),
    email,
    name,
    ...rolesMessage(roles),
    hasTotp,
    hasPasskey,
    rolesFrom: source === "INVITATION" ? "" : source,
    ...(lastSeenAt && { lastSeenAt: timestampFromDate(lastSeenAt) }),
  });
}

export function invitationMessage({ id, email, invitedBy, createdAt, expiresAt, ...roles }: Invitation) {
  return create(InvitationSchema, {
    invitationId: encodeId("inv", id),
    email,
    ...rolesMessage(roles),
    invitedBy,
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
  });
}
