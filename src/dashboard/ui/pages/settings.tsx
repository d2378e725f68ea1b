/** A merchant's settings in one environment: its checkout's origins, the session lifetime, alerts and limits. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useState } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { type Settings, SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { LeaveQuestion } from "../parts/leave-question.tsx";
import { PageContents } from "../parts/page-contents.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { chooseCell } from "../rpc.ts";
import { useScope } from "../scope.ts";
import { AlertForms } from "./alert-settings.tsx";
import { Blocklist } from "./blocklist.tsx";
import { BrakingForm } from "./braking.tsx";
import { RefundLimitForms } from "./refund-limits.tsx";
import { RepeatedOrdersForm } from "./repeated-orders.tsx";
import { SettingForm } from "./setting-form.tsx";
import { findDescriptorProblem, findLifetimeProblem, findOriginProblem, linesOf } from "./setting-rules.ts";

/** The page. */
export function SettingsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const settings = useQuery(SettingsService.method.getSettings, { merchantId, environment });
  const { refetch } = settings;
  // Edits survive a later failure to load.
  const isRead = settings.data !== undefined;
  const error = isRead ? null : settings.error;
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Settings</h1>
          <p>These settings apply to {environmentName} only.</p>
        </div>
      </header>
      {error && <Failure error={error} onRetry={refetch} />}
      {!error && !isRead && <Loading what="The settings" />}
      {settings.data && settings.data.cells.length > 1 && <Cells {...settings.data} />}
      {settings.data?.settings && (
        <Forms
          key={`${merchantId} ${environmentName} ${settings.data.cell}`}
          settings={settings.data.settings}
          onChange={refetch}
        />
      )}
    </>
  );
}

/** Chooses the cell that every page shows, for a merchant that has moved. */
function Cells({ cell: shown, cells }: { cell: number; cells: readonly number[] }) {
  const client = useQueryClient();
  return (
    <p>
      <label>
        Payments and settings of{" "}
        <select
          value={shown}
          onChange={({ target }) => {
            chooseCell(Number(target.value));
            void client.resetQueries();
          }}
        >
          {cells.map((cell, index) => (
            <option key={cell} value={cell}>
              cell {cell}
              {index === 0 ? ", with new payments" : ""}
            </option>
          ))}
        </select>
      </label>{" "}
      on every page
    </p>
  );
}

const groups = [
  ["checkout", "Checkout"],
  ["alerts", "Alerts"],
  ["refunds", "Refund limits"],
  ["blocklist", "Block list"],
  ["budgets", "Time budgets"],
] as const;

/** The settings of one subject, side by side where there is room. */
function Group(props: { of: (typeof groups)[number][0]; isWide?: boolean; children: ReactNode }) {
  const { of: id, isWide = false, children } = props;
  const name = groups.find(([each]) => each === id)?.[1];
  return (
    <section className="stack settings" aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {isWide ? children : <div className="settings-cards">{children}</div>}
    </section>
  );
}

type FormsProps = { settings: Settings; onChange: () => Promise<unknown> };

function Forms({ settings, onChange }: FormsProps) {
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
      <PageContents sections={groups} />
      <Group of="checkout">
        <SettingForm
          {...shared}
          title="Checkout origins"
          explanation="The card form loads only on these origins."
          label="Origins"
          hint={
            environmentName === "live"
              ? "One per line. Without origins, no page can show the checkout in live."
              : "One per line. Without origins, any page can show the checkout in test."
          }
          kept={settings.checkoutOrigins.join("\n")}
          isList
          findProblem={findOriginProblem}
          save={(text, from) =>
            service.setCheckoutOrigins({ ...scope, checkoutOrigins: linesOf(text), revision: from })
          }
        />
        <SettingForm
          {...shared}
          title="Session lifetime"
          explanation="The time that a customer has to pay after your backend has created the session. Existing sessions keep theirs."
          label="Minutes"
          hint="From 5 to 1440 (one day)."
          kept={String(settings.sessionLifetimeSeconds / 60)}
          findProblem={findLifetimeProblem}
          save={(text, from) =>
            service.setSessionLifetime({ ...scope, sessionLifetimeSeconds: Number(text) * 60, revision: from })
          }
        />
        <SettingForm
          {...shared}
          title="Statement descriptor"
          explanation="The text on your customers' card statements, for payments that name none of their own. Existing sessions keep theirs."
          label="Text"
          hint="From 5 to 22 letters, digits, dots, hyphens and spaces, with a letter among them. Without a text, gateways use the one of their account."
          kept={settings.statementDescriptor}
          isText
          findProblem={findDescriptorProblem}
          save={(text, from) =>
            service.setStatementDescriptor({ ...scope, statementDescriptor: text.trim(), revision: from })
          }
        />
        <RepeatedOrdersForm settings={settings} onChange={onChange} />
        <BrakingForm braking={settings.braking} onChange={onChange} />
      </Group>
      <Group of="alerts">
        <AlertForms onUnsaved={onUnsaved} />
      </Group>
      <Group of="refunds">
        <RefundLimitForms onUnsaved={onUnsaved} />
      </Group>
      <Group of="blocklist" isWide>
        <Blocklist />
      </Group>
      <Group of="budgets">
        <Budgets settings={settings} />
      </Group>
      <LeaveQuestion isChanged={unsaved.length > 0} lost={`Your changes are lost: ${unsaved.join(", ")}.`} />
    </>
  );
}

const seconds = (ms: number) => `${(ms / 1_000).toLocaleString(undefined)} s`;

function Budgets({ settings }: { settings: Settings }) {
  return (
    <div className="card">
      <p>Time limits for gateways. Your operator sets them for the whole installation.</p>
      <dl className="form">
        <div className="page-head">
          <dt>One gateway’s answer</dt>
          <dd>{seconds(settings.attemptTimeoutMs)}</dd>
        </div>
        <div className="page-head">
          <dt>A payment with all its attempts</dt>
          <dd>{seconds(settings.submissionBudgetMs)}</dd>
        </div>
      </dl>
    </div>
  );
}
