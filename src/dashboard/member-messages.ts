/** Members and invitations as messages. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationSchema, MemberSchema } from "../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../gen/dashboard/v1/role_pb.ts";
import { SignedInMemberSchema } from "../../gen/dashboard/v1/sign_in_pb.ts";
import type { Invitation } from "../accounts/invitations.ts";
import type { MemberRole, MerchantMember } from "../accounts/members.ts";
import type { SignIn } from "../accounts/sign-ins.ts";
import { encodeId } from "../platform/ids.ts";

const roles = { VIEWER: Role.VIEWER, DEVELOPER: Role.DEVELOPER, OWNER: Role.OWNER } as const;

export function roleMessage(role: MemberRole): Role {
  return roles[role];
}

/** Returns the role of a request; validation admits no other. */
export function roleOfMessage(role: Role): MemberRole {
  const found = (Object.keys(roles) as MemberRole[]).find((name) => roles[name] === role);
  if (found === undefined) throw new Error("validation admits only the roles of members");
  return found;
}

export function memberMessage({ member, memberships }: Pick<SignIn, "member" | "memberships">) {
  const { id, email, name, hasTotp, hasPasskey } = member;
  return create(SignedInMemberSchema, {
    memberId: encodeId("mbr", id),
    email,
    name,
    hasTotp,
    hasPasskey,
    memberships: memberships.map(({ merchantId, merchantName, role }) => ({
      merchantId: encodeId("mer", merchantId),
      merchantName,
      role: roleMessage(role),
    })),
  });
}

export function teamMessage({ id, email, name, role, hasTotp, hasPasskey, lastSeenAt }: MerchantMember) {
  return create(MemberSchema, {
    memberId: encodeId("mbr", id),
    email,
    name,
    role: roleMessage(role),
    hasTotp,
    hasPasskey,
    ...(lastSeenAt && { lastSeenAt: timestampFromDate(lastSeenAt) }),
  });
}

export function invitationMessage({ id, email, role, invitedBy, createdAt, expiresAt }: Invitation) {
  return create(InvitationSchema, {
    invitationId: encodeId("inv", id),
    email,
    role: roleMessage(role),
    invitedBy,
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
  });
}
