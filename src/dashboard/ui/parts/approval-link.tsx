/** The link beside an action that is stored until a second person approves it. */
import { Link, useParams } from "@tanstack/react-router";

export function WaitingLink() {
  const { merchantId } = useParams({ strict: false });
  return (
    <p className="banner" data-tone="warn" role="status">
      Waits for a second person. Nothing is changed until another member approves it.{" "}
      {merchantId !== undefined && (
        <Link to="/$environment/$merchantId/home" params={{ environment: "live", merchantId }} hash="approvals">
          See the changes that wait
        </Link>
      )}
    </p>
  );
}
