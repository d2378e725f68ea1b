/** What a merchant sets in one environment: where its checkout may stand, for how long, and whom trouble is told. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useCallback, useState } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { type Settings, SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { WebhookNoticeService } from "../../../../gen/dashboard/v1/webhook_notices_pb.ts";
import { LeaveQuestion } from "../parts/leave-question.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { SettingForm } from "./setting-form.tsx";
import { findAddressProblem, findLifetimeProblem, findOriginProblem, linesOf } from "./setting-rules.ts";

/** The page. */
export function SettingsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const settings = useQuery(SettingsService.method.getSettings, { merchantId, environment });
  const notices = useQuery(WebhookNoticeService.method.getNoticeAddresses, { merchantId, environment });
  // What is being changed outlives a reading that fails later.
  const isRead = settings.data !== undefined && notices.data !== undefined;
  const error = isRead ? null : (settings.error ?? notices.error);
  const refetch = () => Promise.all([settings.refetch(), notices.refetch()]);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Settings</h1>
          <p>They hold in {environmentName} alone. The other environment has its own.</p>
        </div>
      </header>
      {error && <Failure error={error} onRetry={refetch} />}
      {!error && !isRead && <Loading what="The settings" />}
      {settings.data?.settings && notices.data && (
        <Forms
          key={`${merchantId} ${environmentName}`}
          settings={settings.data.settings}
          addresses={notices.data.addresses}
          onChange={refetch}
        />
      )}
    </>
  );
}

type FormsProps = { settings: Settings; addresses: readonly string[]; onChange: () => Promise<unknown> };

function Forms({ settings, addresses, onChange }: FormsProps) {
  const { merchantId, environment, environmentName, role } = useScope();
  const transport = useTransport();
  const [unsaved, setUnsaved] = useState<readonly string[]>([]);
  const onUnsaved = useCallback((title: string, isUnsaved: boolean) => {
    setUnsaved((before) => [...before.filter((each) => each !== title), ...(isUnsaved ? [title] : [])]);
  }, []);
  const shared = { mayChange: role >= Role.DEVELOPER, onChange, onUnsaved, revision: settings.revision };
  const scope = { merchantId, environment };
  const service = createClient(SettingsService, transport);
  return (
    <>
      <SettingForm
        {...shared}
        title="Checkout origins"
        explanation="The pages that may show your checkout and call it. Everywhere else the card form stays away."
        label="Origins"
        hint={
          environmentName === "live"
            ? "One a line. None: no page may show the checkout in live."
            : "One a line. None: any page may show the checkout in test."
        }
        kept={settings.checkoutOrigins.join("\n")}
        isList
        findProblem={findOriginProblem}
        save={(text, from) => service.setCheckoutOrigins({ ...scope, checkoutOrigins: linesOf(text), revision: from })}
      />
      <SettingForm
        {...shared}
        title="Session lifetime"
        explanation="How long a customer has to pay after your backend has made the session. Open sessions keep their time."
        label="Minutes"
        hint="From 5 to 1440, a day."
        kept={String(settings.sessionLifetimeSeconds / 60)}
        findProblem={findLifetimeProblem}
        save={(text, from) =>
          service.setSessionLifetime({ ...scope, sessionLifetimeSeconds: Number(text) * 60, revision: from })
        }
      />
      <SettingForm
        {...shared}
        mayChange={role >= Role.OWNER}
        title="Notices by mail"
        explanation="Who is told when a webhook endpoint of yours fails for a day, and when it is disabled. Owners change it."
        label="Addresses"
        hint="One a line, at most ten. None: they are told of on the webhooks page alone."
        kept={addresses.join("\n")}
        isList
        findProblem={findAddressProblem}
        save={(text) =>
          createClient(WebhookNoticeService, transport).setNoticeAddresses({ ...scope, addresses: linesOf(text) })
        }
      />
      <Budgets settings={settings} />
      <LeaveQuestion isChanged={unsaved.length > 0} lost={`What you changed is lost: ${unsaved.join(", ")}.`} />
    </>
  );
}

const seconds = (ms: number) => `${(ms / 1_000).toLocaleString(undefined)} s`;

function Budgets({ settings }: { settings: Settings }) {
  return (
    <section className="card" aria-labelledby="budgets">
      <div>
        <h2 id="budgets">Time budgets</h2>
        <p className="soft">How long gateways are waited for. Your operator sets them for the whole installation.</p>
      </div>
      <dl className="form">
        <div className="page-head">
          <dt>One gateway's answer</dt>
          <dd>{seconds(settings.attemptTimeoutMs)}</dd>
        </div>
        <div className="page-head">
          <dt>A payment with all its attempts</dt>
          <dd>{seconds(settings.submissionBudgetMs)}</dd>
        </div>
      </dl>
    </section>
  );
}
