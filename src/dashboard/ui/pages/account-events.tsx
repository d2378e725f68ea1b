/** The events of a member's own account, so that they can recognize events that were not theirs. */
import { useQuery } from "@connectrpc/connect-query";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { inWords } from "../parts/action-words.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useSignIn } from "../signed-in.tsx";

export function AccountEvents() {
  const { member } = useSignIn();
  const { data, error, refetch } = useQuery(SignInService.method.listAccountEvents, {});
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The account activity" />;
  return (
    <section className="card" aria-labelledby="events">
      <div>
        <h2 id="events">Account activity</h2>
        <p className="soft">The latest 100 events. Owners of your merchants see them too.</p>
      </div>
      <ul className="form">
        {data.entries.map(({ auditEntryId, action, actor, createdAt, after }) => (
          <li className="page-head" key={auditEntryId}>
            <div>
              {inWords(action)}
              <div className="soft small">
                <bdi>{actor.startsWith(`${member?.email} (`) ? "You" : actor}</bdi>
                {typeof after?.address === "string" && ` · from ${after.address}`}
              </div>
            </div>
            <span className="soft small">
              <Moment at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
