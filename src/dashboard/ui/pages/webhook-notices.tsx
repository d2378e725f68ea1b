/** What a merchant is told of endpoints that fail, until somebody says that they have seen it. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import {
  WebhookNotice_Kind as Kind,
  type WebhookNotice,
  WebhookNoticeService,
} from "../../../../gen/dashboard/v1/webhook_notices_pb.ts";
import { Button } from "../parts/button.tsx";
import { visible } from "../parts/copied-text.tsx";
import { News } from "../parts/news.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { liveEveryMs, WebhookTabs } from "./webhook-tabs.tsx";

const rowsShown = 100;
const what: [string, string] = ["new notice", "new notices"];

/** The page. */
export function WebhookNoticesPage() {
  const { merchantId, environment, environmentName } = useScope();
  const [includeAcknowledged, setIncluded] = useState(false);
  const { data, error, refetch } = useQuery(
    WebhookNoticeService.method.listWebhookNotices,
    { merchantId, environment, includeAcknowledged, pageSize: rowsShown },
    { refetchInterval: liveEveryMs },
  );
  const notices = data?.notices ?? [];
  return (
    <>
      <WebhookTabs />
      <label className="tick">
        <input type="checkbox" checked={includeAcknowledged} onChange={(event) => setIncluded(event.target.checked)} />
        Show also what was acknowledged
      </label>
      <News
        list={`${environmentName} ${includeAcknowledged} ${data !== undefined}`}
        rows={notices.map(({ noticeId }) => noticeId)}
        what={what}
      />
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The list of notices" />}
      {data && notices.length === 0 && (
        <Empty title="Nothing to tell">
          <p>
            When an endpoint fails for a day, for three days, or is disabled, it stands here, and is mailed to the
            addresses of your settings.
          </p>
        </Empty>
      )}
      {notices.map((notice) => (
        <NoticeCard key={notice.noticeId} notice={notice} onChange={refetch} />
      ))}
    </>
  );
}

const titles: Readonly<Record<number, string>> = {
  [Kind.FAILING_24_HOURS]: "Has taken nothing for a day",
  [Kind.FAILING_72_HOURS]: "Has taken nothing for three days",
  [Kind.DISABLED_FAILING]: "Disabled: has taken nothing for five days",
  [Kind.DISABLED_GONE]: "Disabled: it answered 410",
};

function NoticeCard({ notice, onChange }: { notice: WebhookNotice; onChange: () => unknown }) {
  const { merchantId, environment, role } = useScope();
  const { noticeId, kind, url, failingSince, statusCode, noAnswer, over, createdAt, acknowledgedAt } = notice;
  const client = createClient(WebhookNoticeService, useTransport());
  const acknowledge = useMutation({
    mutationFn: () => client.acknowledgeWebhookNotice({ merchantId, environment, noticeId }),
    onSuccess: onChange,
  });
  const isDisabled = kind === Kind.DISABLED_FAILING || kind === Kind.DISABLED_GONE;
  return (
    <section className="card" aria-labelledby={noticeId}>
      <div className="page-head">
        <div>
          <h2 id={noticeId} className="url">
            <bdi>{visible(url)}</bdi>
          </h2>
          <div className="row">
            <span className="badge" data-tone={over ? undefined : isDisabled ? "bad" : "warn"}>
              {titles[kind] ?? "Notice"}
            </span>
            {over && (
              <span className="badge" data-tone="good">
                Over
              </span>
            )}
          </div>
        </div>
        {role >= Role.DEVELOPER && !acknowledgedAt && (
          <Button
            isPending={acknowledge.isPending}
            onPress={() => acknowledge.mutate()}
            aria-label={`Acknowledge: ${url}`}
          >
            Acknowledge
          </Button>
        )}
      </div>
      <Refusal error={acknowledge.error} />
      <p className="small">
        Told <Moment at={createdAt} />, failing since <Moment at={failingSince} />.{" "}
        {statusCode !== undefined && `Its last answer was ${statusCode}.`}
        {noAnswer !== undefined && `There was no answer: ${noAnswer.replaceAll("_", " ")}.`}
      </p>
      {acknowledgedAt && (
        <p className="small">
          Acknowledged <Moment at={acknowledgedAt} /> by <bdi>{notice.acknowledgedBy}</bdi>.
        </p>
      )}
    </section>
  );
}
