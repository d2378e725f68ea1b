/** The settings of how much members may refund per day, one for each role that may. */
import { useQuery } from "@connectrpc/connect-query";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { type RefundLimits, RefundService } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { typedOf } from "../parts/minor-units.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { Amounts, SettingRow } from "./setting-row.tsx";
import { findLimitProblem, readLimits } from "./setting-rules.ts";

const names: Readonly<Record<number, string>> = {
  [Role.SUPPORT]: "support",
  [Role.DEVELOPER]: "developers",
  [Role.OWNER]: "owners",
};

export function RefundLimitForms() {
  const { merchantId, environment, role } = useScope();
  const scope = { merchantId, environment };
  const limits = useQuery(RefundService.method.getRefundLimits, scope);
  const known = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const service = useClient(RefundService);
  const error = limits.error ?? known.error;
  const refetch = () => Promise.all([limits.refetch(), known.refetch()]);
  if (error && !(limits.data && known.data)) return <Failure error={error} onRetry={refetch} />;
  if (!limits.data || !known.data) return <Loading what="The refund limits" />;
  const { currencies } = known.data;
  return limits.data.limits.map((limit) => (
    <SettingRow
      key={limit.role}
      mayChange={includesRole(role, Role.OWNER)}
      revision={limit.revision}
      title={`Refunds by ${names[limit.role]}`}
      explanation="The amount that each of them can refund in the dashboard per day (UTC). A currency that is not listed has no limit; 0 allows no refund. Refunds by your backend have no limit. Owners can change it."
      kept={textOf(limit)}
      findProblem={(text) => findLimitProblem(text, currencies)}
      save={async (text, revision) =>
        (
          await service.setRefundLimits({
            ...scope,
            role: limit.role,
            limits: readLimits(text, currencies) ?? [],
            revision,
          })
        ).limits?.revision
      }
    >
      {(edit) => <Amounts {...edit} currencies={currencies} />}
    </SettingRow>
  ));
}

function textOf({ amounts }: RefundLimits): string {
  return amounts.map((amount) => `${amount.currency} ${typedOf(amount)}`).join("\n");
}
