/** Copies a merchant's configuration from test to live: the plan, the choices that it needs, and its application. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type AddedEndpoint,
  type ConfigurationChange,
  ConfigurationService,
  type PlanConfigurationResponse,
} from "../../../../gen/dashboard/v1/configuration_pb.ts";
import { Environment } from "../../../../gen/dashboard/v1/environment_pb.ts";
import {
  type GatewayConnection,
  GatewayConnectionService,
} from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Confirm } from "../parts/confirm.tsx";
import { SelectField } from "../parts/field.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

type Choices = Readonly<Record<string, string>>;

// The value of a name without a choice.
const undecided = "?";

export function CopyToLivePage() {
  const { environmentName } = useScope();
  return (
    <>
      <PageHead title="Copy test to live">
        Copies the routing rule, checkout settings, webhook endpoints, alerts and refund limits of test to live. Keys,
        credentials and gateway accounts are never copied. Nothing changes until you apply it.
      </PageHead>
      {environmentName === "live" ? <CopyPlan /> : <p>Switch to Live to see what would change there.</p>}
    </>
  );
}

function CopyPlan() {
  const { merchantId, environment } = useScope();
  const [choices, setChoices] = useState<Choices>({});
  const asked = Object.entries(choices).filter(([, to]) => to !== undecided);
  const request = {
    merchantId,
    environment,
    fromEnvironment: Environment.TEST,
    choices: asked.map(([from, to]) => ({ from, to })),
  };
  const plan = useQuery(ConfigurationService.method.planConfiguration, request, { placeholderData: keepPreviousData });
  const accounts = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const [added, setAdded] = useState<readonly AddedEndpoint[]>();
  // A choice that does not fit can be made again.
  const error = accounts.error ?? (asked.length === 0 ? plan.error : null);
  if (error) return <Failure error={error} onRetry={() => Promise.all([plan.refetch(), accounts.refetch()])} />;
  if (!(plan.data || plan.error) || !accounts.data) return <Loading what="The plan" />;
  const names = [...new Set([...(plan.data?.unknownConnections ?? []), ...Object.keys(choices)])].toSorted();
  return (
    <>
      {names.length > 0 && (
        <ConnectionChoices names={names} choices={choices} accounts={accounts.data.connections} onChoose={setChoices} />
      )}
      <Refusal error={plan.error} />
      {plan.data && (
        <>
          <Changes changes={plan.data.changes} isWhole={plan.data.unknownConnections.length === 0} />
          {plan.data.leftOut.length > 0 && <LeftOut sentences={plan.data.leftOut} />}
          <Apply
            plan={plan.data}
            isPlanning={plan.isPlaceholderData}
            onApplied={(endpoints) => {
              setAdded(endpoints);
              return plan.refetch();
            }}
            onRefused={() => plan.refetch()}
          />
        </>
      )}
      {added && added.length > 0 && <AddedSecrets endpoints={added} />}
    </>
  );
}

type ChoicesProps = {
  readonly names: readonly string[];
  readonly choices: Choices;
  readonly accounts: readonly GatewayConnection[];
  readonly onChoose: (choices: Choices) => void;
};

function ConnectionChoices({ names, choices, accounts, onChoose }: ChoicesProps) {
  const usable = accounts.filter(({ verified }) => verified);
  const targets = usable.map((one) => {
    const isOnly = accounts.filter(({ gateway }) => gateway === one.gateway).length === 1;
    const label = `${nameOfGateway(one.gateway)} (${one.account})`;
    return [isOnly ? one.gateway : `${one.gateway}:${one.account}`, label] as const;
  });
  return (
    <section className="card stack" aria-labelledby="choices">
      <h2 id="choices">Gateway accounts</h2>
      <p className="soft">
        The routing rule in test uses accounts that live does not have, or has more than once. Choose a verified account
        of live for each. To connect one, open <ScopeLink to="./gateways">Gateways</ScopeLink>.
      </p>
      {names.map((name) => (
        <SelectField
          key={name}
          label={`Instead of ${nameGatewaysIn(name)}`}
          value={choices[name] ?? undecided}
          onChange={({ currentTarget }) => onChoose({ ...choices, [name]: currentTarget.value })}
          values={[[undecided, "Not chosen yet"], ...targets, ["", "Leave it out of the rule"]]}
        />
      ))}
    </section>
  );
}

const sections: Readonly<Record<string, string>> = {
  routing: "Routing rule",
  checkout: "Checkout",
  webhooks: "Webhook endpoints",
  alerts: "Alerts",
  refundLimits: "Refund limits",
};

function Changes({ changes, isWhole }: { changes: readonly ConfigurationChange[]; isWhole: boolean }) {
  const sectionOf = ({ path }: ConfigurationChange) => path.split(".")[0]!;
  const names = Object.keys(sections).filter((name) => changes.some((change) => sectionOf(change) === name));
  return (
    <section className="card stack" aria-labelledby="changes">
      <h2 id="changes">Changes in live</h2>
      {!isWhole && (
        <p className="banner" data-tone="warn">
          The routing rule is not part of the plan until each account is chosen.
        </p>
      )}
      {names.length === 0 && <p>{isWhole ? "None: live is set up like test." : "None besides the routing rule."}</p>}
      {names.map((name) => (
        <div key={name}>
          <h3>{sections[name]}</h3>
          <ul>
            {changes
              .filter((change) => sectionOf(change) === name)
              .flatMap(({ path, sentences, removes }) =>
                sentences.map((sentence) => (
                  <li key={`${path} ${sentence}`}>
                    {nameGatewaysIn(sentence)}
                    {removes && " This removes something that live has now."}
                  </li>
                )),
              )}
          </ul>
        </div>
      ))}
    </section>
  );
}

function LeftOut({ sentences }: { sentences: readonly string[] }) {
  return (
    <section className="card stack" aria-labelledby="left-out">
      <h2 id="left-out">Not copied</h2>
      <ul>
        {sentences.map((sentence) => (
          <li key={sentence}>{nameGatewaysIn(sentence)}</li>
        ))}
      </ul>
    </section>
  );
}

type ApplyProps = {
  readonly plan: PlanConfigurationResponse;
  readonly isPlanning: boolean;
  readonly onApplied: (added: readonly AddedEndpoint[]) => unknown;
  readonly onRefused: () => unknown;
};

function Apply({ plan, isPlanning, onApplied, onRefused }: ApplyProps) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(ConfigurationService);
  const { changes, desired, revision } = plan;
  const removes = changes.some((change) => change.removes);
  const apply = useMutation({
    mutationFn: () =>
      client.applyConfiguration({ merchantId, environment, desired: desired!, revision, allowRemovals: removes }),
    onSuccess: ({ addedEndpoints }) => onApplied(addedEndpoints),
    // If live was changed meanwhile, the next attempt applies what the page shows by then.
    onError: onRefused,
    meta: { done: "Live has the configuration of test." },
  });
  if (!includesRole(role, Role.OWNER)) return <p className="soft">Owners can apply it.</p>;
  if (changes.length === 0) return <Refusal error={apply.error} />;
  return (
    <div className="stack">
      <Refusal error={apply.error} />
      <div className="row">
        <Confirm
          isMain
          action="Apply to live"
          title={`Apply ${changes.length === 1 ? "one change" : `${changes.length} changes`} to live?`}
          isPending={apply.isPending || isPlanning}
          onConfirm={() => apply.mutate()}
        >
          All changes are made together, or none. They apply to payments that are submitted from then on.
          {removes && " Something that live has now is removed, as the list says."}
        </Confirm>
      </div>
    </div>
  );
}

function AddedSecrets({ endpoints }: { endpoints: readonly AddedEndpoint[] }) {
  return (
    <section className="card stack" aria-labelledby="secrets">
      <h2 id="secrets">New webhook endpoints</h2>
      <p>
        Give each server its signing secret, then verify the endpoint on <ScopeLink to="./webhooks">Webhooks</ScopeLink>
        . Events are posted from then on.
      </p>
      {endpoints.map(({ url, endpointId, signingSecret }) => (
        <ShownSecret key={endpointId} label={`Signing secret of ${url}`} secret={signingSecret} />
      ))}
    </section>
  );
}
