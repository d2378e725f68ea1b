/** Leads a member from a refusal that requires a second factor to where they add one. */
import { Link } from "@tanstack/react-router";

export function SecondFactorLink() {
  return <Link to="/account">Set up a second factor</Link>;
}
