/** The setting of what needs a second person in live. */
import { useQuery } from "@connectrpc/connect-query";
import { ApprovalService } from "../../../../gen/dashboard/v1/approvals_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { typedOf } from "../parts/minor-units.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { Switch } from "../parts/switch.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { ClosedApprovals } from "./approvals.tsx";
import { Amounts, type Edit, Row, SettingRow } from "./setting-row.tsx";
import { findLimitProblem, readLimits } from "./setting-rules.ts";

const classes = [
  ["routing", "Routing", "The routing rule, and accounts at gateways that take payments again."],
  ["credentials", "Credentials and keys", "New credentials of gateways, and new API keys."],
  ["endpoints", "Webhook endpoints", "New endpoints, other addresses and signing secrets."],
  ["refunds", "Refunds", "Refunds that bring a payment’s refunds above an amount."],
] as const;

/** The first line names the classes that are on, and each other one has an amount. */
const split = (text: string) => {
  const [on = "", ...amounts] = text.split("\n");
  return { on: on.split(" ").filter((name) => name !== ""), amounts: amounts.join("\n") };
};
const join = (on: readonly string[], amounts: string) =>
  amounts === "" ? on.join(" ") : `${on.join(" ")}\n${amounts}`;

export function ApprovalForm() {
  const { merchantId, environment, role } = useScope();
  const scope = { merchantId, environment };
  const stored = useQuery(ApprovalService.method.getApprovalPolicy, scope);
  const known = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const service = useClient(ApprovalService);
  const error = stored.error ?? known.error;
  const refetch = () => Promise.all([stored.refetch(), known.refetch()]);
  if (error && !(stored.data && known.data)) return <Failure error={error} onRetry={refetch} />;
  if (!stored.data?.policy || !known.data) return <Loading what="What needs a second person" />;
  const { policy, revision } = stored.data;
  const { currencies } = known.data;
  const amounts = policy.refundsAbove.map(({ currency, amountMinor }) => {
    const { exponent = 2 } = currencies.find(({ code }) => code === currency) ?? {};
    return `${currency} ${typedOf({ amountMinor, exponent })}`;
  });
  const kept = join(
    classes.map(([name]) => name).filter((name) => policy[name]),
    amounts.join("\n"),
  );
  return (
    <>
      <SettingRow
        mayChange={includesRole(role, Role.OWNER)}
        revision={revision}
        title="Changes that need a second person"
        explanation="Such a change of a member is not made until another member with the same role approves it, within 72 hours. Pausing, disabling and revoking work at once. To switch something off needs a second person, too. Owners can change it."
        kept={kept}
        findProblem={(text) => findLimitProblem(split(text).amounts, currencies)}
        save={async (text, from) => {
          const { on, amounts: limits } = split(text);
          const chosen = Object.fromEntries(classes.map(([name]) => [name, on.includes(name)]));
          const refundsAbove = readLimits(limits, currencies) ?? [];
          return (await service.setApprovalPolicy({ ...scope, policy: { ...chosen, refundsAbove }, revision: from }))
            .revision;
        }}
      >
        {(edit) => <Classes {...edit} currencies={currencies} />}
      </SettingRow>
      <Row title="Recent decisions" explanation="Who has requested a change, and what became of it.">
        <ClosedApprovals />
      </Row>
    </>
  );
}

type ClassesProps = Edit & { readonly currencies: Parameters<typeof Amounts>[0]["currencies"] };

function Classes({ text, onText, isDisabled, ...edit }: ClassesProps) {
  const { on, amounts } = split(text);
  const names = classes.map(([name]) => name);
  return (
    <>
      {classes.map(([name, title, detail]) => (
        <Switch
          key={name}
          name={title}
          detail={detail}
          isOn={on.includes(name)}
          isDisabled={isDisabled}
          onChange={(isOn) =>
            onText(
              join(
                names.filter((each) => (each === name ? isOn : on.includes(each))),
                amounts,
              ),
            )
          }
        />
      ))}
      {on.includes("refunds") && (
        <Amounts
          {...edit}
          isDisabled={isDisabled}
          none="Every refund needs a second person."
          text={amounts}
          onText={(changed) => onText(join(on, changed))}
        />
      )}
    </>
  );
}
