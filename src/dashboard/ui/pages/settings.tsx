/** A merchant's settings in one environment: its checkout's origins, the session lifetime, alerts and limits. */
import { useQuery } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { RepeatedOrders, type Settings, SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { PageContents } from "../parts/page-contents.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Switch } from "../parts/switch.tsx";
import { chooseCell } from "../rpc.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { AlertForms } from "./alert-settings.tsx";
import { ApprovalForm } from "./approval-settings.tsx";
import { WaitingApprovals } from "./approvals.tsx";
import { Blocklist } from "./blocklist.tsx";
import { BrakingForm } from "./braking.tsx";
import { RefundLimitForms } from "./refund-limits.tsx";
import { SettingDrafts } from "./setting-drafts.tsx";
import { Line, Row, SettingRow } from "./setting-row.tsx";
import { findDescriptorProblem, findLifetimeProblem, findOriginProblem, linesOf } from "./setting-rules.ts";

// Others may decide meanwhile.
const everyMs = 30_000;

export function SettingsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const settings = useQuery(SettingsService.method.getSettings, { merchantId, environment });
  const { refetch } = settings;
  // Edits survive a later failure to load.
  const isRead = settings.data !== undefined;
  const error = isRead ? null : settings.error;
  return (
    <>
      <PageHead title="Settings">
        These settings apply to {environmentName} only.{" "}
        {environmentName === "live" && <ScopeLink to="./copy-to-live">Copy test to live</ScopeLink>}
      </PageHead>
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
  ["second-person", "Second person"],
  ["blocklist", "Block list"],
  ["budgets", "Time budgets"],
] as const;

function Group({ of: id, children }: { of: (typeof groups)[number][0]; children: ReactNode }) {
  const name = groups.find(([each]) => each === id)?.[1];
  return (
    <section className="stack settings" aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {children}
    </section>
  );
}

const Rows = ({ children }: { children: ReactNode }) => <div className="card rows">{children}</div>;

type FormsProps = { settings: Settings; onChange: () => Promise<unknown> };

function Forms({ settings, onChange }: FormsProps) {
  const { environmentName } = useScope();
  return (
    <SettingDrafts>
      <PageContents sections={groups.filter(([id]) => id !== "second-person" || environmentName === "live")} />
      <Group of="checkout">
        <CheckoutRows settings={settings} onChange={onChange} />
      </Group>
      <Group of="alerts">
        <Rows>
          <AlertForms />
        </Rows>
      </Group>
      <Group of="refunds">
        <Rows>
          <RefundLimitForms />
        </Rows>
      </Group>
      {environmentName === "live" && (
        <Group of="second-person">
          <WaitingApprovals everyMs={everyMs} />
          <Rows>
            <ApprovalForm />
          </Rows>
        </Group>
      )}
      <Group of="blocklist">
        <Blocklist />
      </Group>
      <Group of="budgets">
        <Rows>
          <Row title="One gateway’s answer" explanation={byOperator}>
            {seconds(settings.attemptTimeoutMs)}
          </Row>
          <Row title="A payment with all its attempts" explanation={byOperator}>
            {seconds(settings.submissionBudgetMs)}
          </Row>
        </Rows>
      </Group>
    </SettingDrafts>
  );
}

function CheckoutRows({ settings, onChange }: FormsProps) {
  const { merchantId, environment, environmentName, role } = useScope();
  const { revision } = settings;
  const shared = { mayChange: includesRole(role, Role.DEVELOPER), revision, sharesRevision: true };
  const scope = { merchantId, environment };
  const service = useClient(SettingsService);
  return (
    <Rows>
      <SettingRow
        {...shared}
        title="Checkout origins"
        explanation="The card form loads only on these origins."
        kept={settings.checkoutOrigins.join("\n")}
        findProblem={findOriginProblem}
        save={async (text, from) =>
          (await service.setCheckoutOrigins({ ...scope, checkoutOrigins: linesOf(text), revision: from })).settings
            ?.revision
        }
      >
        {(edit) => (
          <Line
            {...edit}
            isList
            label="Origins"
            hint={`One per line. Without origins, ${environmentName === "live" ? "no" : "any"} page can show the checkout in ${environmentName}.`}
          />
        )}
      </SettingRow>
      <SettingRow
        {...shared}
        title="Session lifetime"
        explanation="The time that a customer has to pay after your backend has created the session. Existing sessions keep theirs."
        kept={String(settings.sessionLifetimeSeconds / 60)}
        findProblem={findLifetimeProblem}
        save={async (text, from) =>
          (
            await service.setSessionLifetime({
              ...scope,
              sessionLifetimeSeconds: Number(text) * 60,
              revision: from,
            })
          ).settings?.revision
        }
      >
        {(edit) => <Line {...edit} label="Minutes" hint="From 5 to 1440 (one day)." />}
      </SettingRow>
      <SettingRow
        {...shared}
        title="Statement descriptor"
        explanation="The text on your customers’ card statements, for payments that name none of their own. Existing sessions keep theirs."
        kept={settings.statementDescriptor}
        findProblem={findDescriptorProblem}
        save={async (text, from) =>
          (await service.setStatementDescriptor({ ...scope, statementDescriptor: text.trim(), revision: from }))
            .settings?.revision
        }
      >
        {(edit) => (
          <Line
            {...edit}
            isText
            label="Text"
            hint="From 5 to 22 letters, digits, dots, hyphens and spaces, with a letter among them. Without a text, gateways use the one of their account."
          />
        )}
      </SettingRow>
      <SettingRow
        {...shared}
        title="One order, one payment"
        explanation="Payments with the same orderRef belong to one order. A change also applies to orders that were paid before, or are being paid."
        kept={String(settings.repeatedOrders === RepeatedOrders.REFUSE)}
        save={async (text, from) => {
          const repeatedOrders = text === "true" ? RepeatedOrders.REFUSE : RepeatedOrders.WARN;
          return (await service.setRepeatedOrders({ ...scope, repeatedOrders, revision: from })).settings?.revision;
        }}
      >
        {({ text, isDisabled, onText }) => (
          <Switch
            name="Refuse a second payment of an order"
            detail="The customer sees that the order is being paid, or is already paid. If this is off, a second payment is accepted and an alert opens."
            isOn={text === "true"}
            isDisabled={isDisabled}
            onChange={(isOn) => onText(String(isOn))}
          />
        )}
      </SettingRow>
      <BrakingForm braking={settings.braking} onChange={onChange} />
    </Rows>
  );
}

const byOperator = "Your operator sets it for the whole installation.";

const seconds = (ms: number) => `${(ms / 1_000).toLocaleString(undefined)} s`;
