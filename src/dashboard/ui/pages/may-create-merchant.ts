import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";

/** Reports whether a member may create merchants: who owns one may. */
export function mayCreateMerchant(memberships: readonly { role: Role }[] | undefined): boolean {
  return memberships?.some(({ role }) => role === Role.OWNER) ?? false;
}
