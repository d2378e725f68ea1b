/** The order of roles, for the guard and the page: a role's number says nothing about its rights. */
import { Role } from "../../../gen/dashboard/v1/role_pb.ts";

// The roles from the fewest rights to the most; a role that is not listed has none.
const ranked: readonly Role[] = [Role.VIEWER, Role.SUPPORT, Role.DEVELOPER, Role.OWNER, Role.OPERATOR];

/** Reports whether `held` has the rights of `needed`. Nothing has the rights of a role that is none. */
export function includesRole(held: Role, needed: Role): boolean {
  return ranked.includes(needed) && ranked.indexOf(held) >= ranked.indexOf(needed);
}
