/** Settings of alerts: the addresses, the chat, the topics that are sent, and a test of it all. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Form } from "react-aria-components/Form";
import { AlertService, type AlertSettings, AlertTopic } from "../../../../gen/dashboard/v1/alerts_pb.ts";
import { MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { WebhookAlertService } from "../../../../gen/dashboard/v1/webhook_alerts_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { formatWholePercent } from "../parts/numbers.ts";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Switch } from "../parts/switch.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { Choices, Line, Row, SettingRow } from "./setting-row.tsx";
import { findAddressProblem, linesOf } from "./setting-rules.ts";

export function AlertForms() {
  const { merchantId, environment } = useScope();
  const scope = { merchantId, environment };
  const addresses = useQuery(WebhookAlertService.method.getAlertAddresses, scope);
  const alerts = useQuery(AlertService.method.getAlertSettings, scope);
  const team = useQuery(MemberService.method.listMembers, { merchantId });
  const isRead = addresses.data && alerts.data?.settings && team.data;
  const error = addresses.error ?? alerts.error ?? team.error;
  const refetch = () => Promise.all([addresses.refetch(), alerts.refetch(), team.refetch()]);
  if (error && !isRead) return <Failure error={error} onRetry={refetch} />;
  if (!addresses.data || !alerts.data?.settings || !team.data) return <Loading what="The settings of alerts" />;
  const { settings } = alerts.data;
  return (
    <>
      <Addresses
        kept={addresses.data.addresses}
        revision={addresses.data.revision}
        unconfirmed={addresses.data.unconfirmed}
        members={team.data.members.map(({ email }) => email)}
        canMail={settings.canMail}
      />
      <Chat host={settings.chatHost} onChange={refetch} />
      <Topics settings={settings} />
      <Test isPossible={addresses.data.addresses.length > 0 || settings.chatHost !== ""} />
    </>
  );
}

type AddressProps = {
  kept: readonly string[];
  revision: string;
  unconfirmed: readonly string[];
  members: readonly string[];
  canMail: boolean;
};

function Addresses({ kept, revision, unconfirmed, members, canMail }: AddressProps) {
  const { merchantId, environment, role } = useScope();
  const service = useClient(WebhookAlertService);
  return (
    <SettingRow
      revision={revision}
      mayChange={includesRole(role, Role.OWNER)}
      title="Alerts by mail"
      explanation={
        canMail
          ? "These addresses get a mail when an alert opens and another when it is over, once they have confirmed by the link that is mailed to them. Owners can change them."
          : "This installation has no mail server, so no mail is sent until your operator sets one up. Owners can change the addresses."
      }
      note={
        unconfirmed.length > 0 ? `Not confirmed yet: ${unconfirmed.join(", ")}. A test alert asks again.` : undefined
      }
      kept={kept.join("\n")}
      findProblem={findAddressProblem}
      save={async (text, from) =>
        (await service.setAlertAddresses({ merchantId, environment, addresses: linesOf(text), revision: from }))
          .revision
      }
    >
      {(edit) => (
        <>
          <Line
            {...edit}
            isList
            label="Addresses"
            hint="One per line, at most ten. Without addresses, alerts appear on the dashboard only."
          />
          {!edit.isDisabled && <Choices {...edit} legend="Members of the team" values={members} />}
        </>
      )}
    </SettingRow>
  );
}

function Chat({ host, onChange }: { host: string; onChange: () => Promise<unknown> }) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(AlertService);
  const set = useMutation({
    mutationFn: (url: string) => client.setAlertChat({ merchantId, environment, url }),
    onSuccess: onChange,
  });
  const secret = set.data?.signingSecret ?? "";
  return (
    <Row
      title="Alerts to a chat"
      explanation="Alerts are also posted to the incoming webhook of a chat, such as Slack, Mattermost or Teams. The address is a secret and is never shown again. Owners can change it."
    >
      <p>
        {host === "" ? (
          "No chat is set."
        ) : (
          <>
            Alerts go to a chat at <strong>{host}</strong>.
          </>
        )}
      </p>
      {secret !== "" && <ShownSecret label="Signing secret, to verify the messages if you want to" secret={secret} />}
      {includesRole(role, Role.OWNER) && (
        <Form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            const form = event.currentTarget;
            set.mutate(String(new FormData(form).get("url")), { onSuccess: () => form.reset() });
          }}
        >
          <Field
            label={host === "" ? "Incoming address" : "New incoming address"}
            name="url"
            type="url"
            isRequired
            autoComplete="off"
            maxLength={2048}
            hint="Such as https://hooks.slack.com/services/…"
          />
          <Refusal error={set.error} />
          <div className="row">
            <Button type="submit" isPending={set.isPending}>
              {host === "" ? "Set the chat" : "Replace the chat"}
            </Button>
            {host !== "" && (
              <Confirm title="Remove the chat?" action="Remove the chat" onConfirm={() => set.mutate("")}>
                Alerts are no longer posted to {host}. Its address is deleted.
              </Confirm>
            )}
          </div>
        </Form>
      )}
    </Row>
  );
}

const topics = [
  [
    AlertTopic.GATEWAY_UNHEALTHY,
    "Gateway unhealthy",
    "Far more timeouts and errors in the last hour than in the four weeks before.",
  ],
  [
    AlertTopic.CREDENTIALS_REFUSED,
    "Gateway refuses credentials",
    "A gateway refuses the key or the account of a connection, until it accepts them again.",
  ],
  [
    AlertTopic.APPROVAL_RATE,
    "Approval rate low",
    "A gateway approves far fewer attempts in the last hour than in the four weeks before.",
  ],
  [
    AlertTopic.ENDPOINT_FAILING,
    "Webhook endpoint failing",
    "No successful delivery for a day, for three days, or until it was disabled.",
  ],
  [
    AlertTopic.UNVERIFIED,
    "Verification missing",
    "A gateway’s new credentials have waited for a day, or events for an hour.",
  ],
  [AlertTopic.HOLDS_EXPIRING, "Holds end soon", "Payments that are held and neither captured nor cancelled."],
  [AlertTopic.PAID_MORE_THAN_ONCE, "Paid more than once", "Two payments of one order, neither refunded."],
  [AlertTopic.CARD_TESTING, "Card testing", "Payments are restricted, because many cards are declined."],
  [AlertTopic.AGREEMENTS_UNCHARGEABLE, "Agreement without a gateway", "No gateway can charge an agreement."],
  [
    AlertTopic.RENEWALS_STOPPED,
    "Renewals stopped",
    `Banks have stopped the cards of more than ${formatWholePercent(0.01)} of a day’s renewals at a gateway.`,
  ],
  [AlertTopic.CARDS_NOT_ERASED, "Deleted cards not erased", "The vault has not erased deleted cards for an hour."],
  [
    AlertTopic.APPLE_PAY_ENDING,
    "Apple Pay ends",
    "A certificate of Apple’s ends in 60, 30 or 7 days, or has ended: no checkout then offers Apple Pay.",
  ],
  [
    AlertTopic.DISPUTES,
    "Disputes",
    "A payment is disputed, an answer is due within 72 hours, or disputes cannot be read.",
  ],
  [
    AlertTopic.SETTLEMENT,
    "Settlement",
    "Payments are not paid out in the usual time, a payout does not add up, or payouts cannot be read.",
  ],
] as const;

function Topics({ settings }: { settings: AlertSettings }) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(AlertService);
  const textOf = (muted: readonly AlertTopic[]) => JSON.stringify(muted.toSorted((one, other) => one - other));
  return (
    <SettingRow
      title="Alerts that are sent"
      explanation="The others appear on the dashboard only."
      mayChange={includesRole(role, Role.OWNER)}
      kept={textOf(settings.mutedTopics)}
      save={async (text) => {
        await client.setMutedAlerts({ merchantId, environment, mutedTopics: JSON.parse(text) });
        return undefined;
      }}
    >
      {({ text, isDisabled, onText }) => {
        const muted: readonly AlertTopic[] = JSON.parse(text);
        return (
          <ul className="form">
            {topics.map(([topic, name, detail]) => (
              <li key={topic}>
                <Switch
                  name={name}
                  detail={detail}
                  isDisabled={isDisabled}
                  isOn={!muted.includes(topic)}
                  onChange={(isOn) => onText(textOf(isOn ? muted.filter((each) => each !== topic) : [...muted, topic]))}
                />
              </li>
            ))}
          </ul>
        );
      }}
    </SettingRow>
  );
}

function Test({ isPossible }: { isPossible: boolean }) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(AlertService);
  const test = useMutation({ mutationFn: () => client.sendTestAlert({ merchantId, environment }) });
  if (!includesRole(role, Role.DEVELOPER)) return null;
  return (
    <Row
      title="Test alert"
      explanation="Sends one message to each confirmed address and to the chat; the others are asked to confirm again. The message says that it is a test."
    >
      <Refusal error={test.error} />
      <div aria-live="polite">
        {test.data && (
          <ul>
            {test.data.results.map(({ recipient, accepted, problem }) => (
              <li key={recipient}>
                <Badge tone={accepted ? "good" : "bad"}>{accepted ? "Accepted" : "Failed"}</Badge>{" "}
                <bdi>{recipient}</bdi>
                {problem !== "" && `: ${problem}`}
              </li>
            ))}
          </ul>
        )}
      </div>
      <div>{isPossible ? <Button runs={test}>Send a test alert</Button> : <p>Save an address or a chat first.</p>}</div>
    </Row>
  );
}
