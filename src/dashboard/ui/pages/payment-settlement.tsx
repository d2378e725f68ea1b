/** The settlement of a payment: the payout that paid it, or the reason why none has. */
import { useQuery } from "@connectrpc/connect-query";
import { type Settlement, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { LedgerEntry_Type as Type } from "../../../../gen/payments/v1/ledger_pb.ts";
import { Settlement_State as State } from "../../../../gen/payments/v1/settlement_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { dayInWords } from "../parts/numbers.ts";
import { nameOfType, openWords } from "../parts/settlement-words.tsx";
import { ScopeLink, useScope } from "../scope.ts";

/** A fact for each movement; nothing if no money has moved. */
export default function PaymentSettlement({ sessionId }: { sessionId: string }) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(SettlementService.method.getPaymentSettlements, { merchantId, environment, sessionId });
  return data?.settlements.map((settlement) => (
    <Fact
      key={`${settlement.type} ${settlement.recordedAt?.seconds} ${settlement.recordedAt?.nanos}`}
      name={settlement.type === Type.CAPTURED ? "Paid out" : `${nameOfType(settlement.type)} settled`}
    >
      <Outcome settlement={settlement} />
    </Fact>
  ));
}

function Outcome({ settlement }: { settlement: Settlement }) {
  const { state, payoutId, payoutReference, arrivesOn, net, reason } = settlement;
  if (state === State.OPEN) return <>{openWords(reason).name}</>;
  if (state === State.IN_BALANCE) return <>Not yet, in the balance at the gateway{net && `, ${formatAmount(net)}`}</>;
  return (
    <>
      {net && `${formatAmount(net)} with `}
      <ScopeLink to="./payouts/$payoutId" params={{ payoutId }}>
        <bdi>{visible(payoutReference)}</bdi>
      </ScopeLink>
      {arrivesOn && `, ${dayInWords(arrivesOn)}`}
    </>
  );
}
