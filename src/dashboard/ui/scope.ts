/** The merchant and environment of the page, read from its address. */
import { getRouteApi, useParams } from "@tanstack/react-router";
import { Environment } from "../../../gen/dashboard/v1/environment_pb.ts";
import { Role } from "../../../gen/dashboard/v1/role_pb.ts";
import { useSignIn } from "./signed-in.tsx";

/** Returns the fields of every request about a merchant, and the member's rights there. */
export function useScope() {
  const { environment, merchantId } = useParams({ from: "/signed-in/$environment/$merchantId" });
  const membership = useSignIn().member?.memberships.find((each) => each.merchantId === merchantId);
  return {
    merchantId,
    environment: environment === "live" ? Environment.LIVE : Environment.TEST,
    environmentName: environment === "live" ? ("live" as const) : ("test" as const),
    merchantName: membership?.merchantName,
    role: membership?.role ?? Role.UNSPECIFIED,
  };
}

/** A link below the merchant and environment of the page: `to` begins with `./`. */
export const ScopeLink = getRouteApi("/signed-in/$environment/$merchantId").Link;

const roleNames: Readonly<Record<number, string>> = {
  [Role.VIEWER]: "Viewer",
  [Role.DEVELOPER]: "Developer",
  [Role.OWNER]: "Owner",
};

export function nameOfRole(role: Role): string {
  return roleNames[role] ?? "No role";
}
