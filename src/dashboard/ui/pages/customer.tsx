/** One customer, by the e-mail address: payments, refunds and totals, and the erasure of the customer's data. */
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery, useTransport } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type CustomerTotals, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { RefundService } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { PaymentsTable } from "./payments-table.tsx";
import { RefundsTable } from "./refunds.tsx";

const rowsAtOnce = 20;

export function CustomerPage() {
  const { email } = useSearch({ from: "/signed-in/$environment/$merchantId/payments/customer" });
  const { merchantId, environment, role } = useScope();
  const totals = useQuery(
    PaymentService.method.getCustomerTotals,
    { merchantId, environment, email },
    { enabled: email !== "" },
  );
  const { data, error, refetch } = totals;
  return (
    <>
      <PageHead
        title="Customer"
        actions={role >= Role.OWNER && (data?.totals.length ?? 0) > 0 && <Erase email={email} />}
      >
        <bdi>{visible(email)}</bdi>
      </PageHead>
      {error && <Failure error={error} onRetry={refetch} />}
      {!error && !data && email !== "" && <Loading what="The customer" />}
      {(data?.totals.length === 0 || email === "") && (
        <Empty title="No payment has this address">
          <p>Only sessions that were created with a customer’s address are found by it, until it is erased.</p>
        </Empty>
      )}
      {data && data.totals.length > 0 && (
        <>
          <Totals totals={data.totals} />
          <Payments email={email} />
          <Refunds email={email} />
        </>
      )}
    </>
  );
}

function Totals({ totals }: { totals: readonly CustomerTotals[] }) {
  return (
    <section className="card" aria-label="Totals">
      {totals.map(({ captured, refunded, payments, succeeded }) => (
        <dl className="facts" key={captured?.currency}>
          <Fact name={`Captured in ${captured?.currency ?? ""}`}>
            <Amount amount={captured} />
          </Fact>
          <Fact name="Refunded">
            <Amount amount={refunded} />
          </Fact>
          <Fact name="Payments">
            {payments}, of which {succeeded} succeeded
          </Fact>
        </dl>
      ))}
    </section>
  );
}

function Payments({ email }: { email: string }) {
  const { merchantId, environment } = useScope();
  const query = useInfiniteQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, filter: { customerEmail: email }, pageSize: rowsAtOnce, pageToken: "" },
    pages,
  );
  return (
    <PagedRows label="Payments" query={query} rowsOf={(page) => page.payments} head={() => <h2>Payments</h2>}>
      {(rows) => <PaymentsTable label="The customer’s payments" rows={rows.map((payment) => ({ payment }))} />}
    </PagedRows>
  );
}

function Refunds({ email }: { email: string }) {
  const { merchantId, environment } = useScope();
  const query = useInfiniteQuery(
    RefundService.method.listRefunds,
    { merchantId, environment, filter: { customerEmail: email }, pageSize: rowsAtOnce, pageToken: "" },
    pages,
  );
  return (
    <PagedRows label="Refunds" query={query} rowsOf={(page) => page.refunds} head={() => <h2>Refunds</h2>}>
      {(refunds) => <RefundsTable refunds={refunds} />}
    </PagedRows>
  );
}

/** Erases the customer's data, as many calls as it takes. */
function Erase({ email }: { email: string }) {
  const { merchantId, environment } = useScope();
  const client = createClient(SettingsService, useTransport());
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: async () => {
      let after = "";
      do ({ nextAfter: after } = await client.eraseCustomer({ merchantId, environment, email, after }));
      while (after !== "");
    },
    onSuccess: () => queries.invalidateQueries(),
    meta: { done: "The customer’s data are erased." },
  });
  return (
    <div>
      <Refusal error={erase.error} />
      <Confirm
        action="Erase the customer’s data"
        title="Erase this customer’s data?"
        onConfirm={() => erase.mutate()}
        isPending={erase.isPending}
      >
        The e-mail address, name and billing address are erased from every payment with this address. The payments stay,
        and can no longer be found by it. This cannot be undone.
      </Confirm>
    </div>
  );
}
