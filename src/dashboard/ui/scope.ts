/** The merchant and environment of the page, read from its address. */
import { getRouteApi, useParams } from "@tanstack/react-router";
import { Environment } from "../../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../../gen/dashboard/v1/role_pb.ts";
import { useSignIn } from "./signed-in.tsx";

/** Returns the fields of every request about a merchant, and the member's role there. */
export function useScope() {
  const { environment, merchantId } = useParams({ from: "/signed-in/$environment/$merchantId" });
  const membership = useSignIn().member?.memberships.find((each) => each.merchantId === merchantId);
  return {
    merchantId,
    environment: environment === "live" ? Environment.LIVE : Environment.TEST,
    environmentName: environment === "live" ? ("live" as const) : ("test" as const),
    merchantName: membership?.merchantName,
    role: (environment === "live" ? membership?.liveRole : membership?.role) ?? Role.UNSPECIFIED,
  };
}

/** A link below the merchant and environment of the page: `to` begins with `./`. */
export const ScopeLink = getRouteApi("/signed-in/$environment/$merchantId").Link;

const roleNames: Readonly<Record<number, string>> = {
  [Role.NONE]: "No access",
  [Role.VIEWER]: "Viewer",
  [Role.SUPPORT]: "Support",
  [Role.DEVELOPER]: "Developer",
  [Role.OWNER]: "Owner",
};

export function nameOfRole(role: Role): string {
  return roleNames[role] ?? "No role";
}

/** Returns one name where a member has the same role in test and live, otherwise both. */
export function nameOfRoles({ role, liveRole }: { readonly role: Role; readonly liveRole: Role }): string {
  return role === liveRole ? nameOfRole(role) : `${nameOfRole(role)} in test, ${nameOfRole(liveRole)} in live`;
}

/** The roles that a member can have in test, and those in live. */
export const testRoles = [Role.VIEWER, Role.SUPPORT, Role.DEVELOPER, Role.OWNER] as const;
export const liveRoles = [Role.NONE, ...testRoles] as const;

/** Returns both roles after one was chosen: an owner is one in test and live. */
export function rolesWith(
  held: { readonly role: Role; readonly liveRole: Role },
  changed: { readonly role?: Role; readonly liveRole?: Role },
): { role: Role; liveRole: Role } {
  const chosen = changed.role ?? changed.liveRole;
  const wanted = { role: held.role, liveRole: held.liveRole, ...changed };
  if (chosen === Role.OWNER) return { role: Role.OWNER, liveRole: Role.OWNER };
  if (held.role !== Role.OWNER) return wanted;
  const other = chosen === undefined || chosen === Role.NONE ? Role.VIEWER : chosen;
  return { role: changed.role ?? other, liveRole: changed.liveRole ?? other };
}
