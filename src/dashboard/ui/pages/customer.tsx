/**
 * A customer, by the e-mail address or the merchant's reference: stored cards, payments, refunds and totals, and the
 * erasure of the customer's data.
 */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type CustomerTotals, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { RefundService } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Amount } from "../parts/amount.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { visible } from "../parts/copied-text.tsx";
import { Fact } from "../parts/fact.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { CustomerStored } from "./customer-stored.tsx";
import { PaymentsTable } from "./payments-table.tsx";
import { RefundsTable } from "./refunds.tsx";

const rowsAtOnce = 20;

/** The customer of the page, by one of the two. */
type Named = { readonly email: string } | { readonly customerRef: string };

export function CustomerPage() {
  const { email, customer } = useSearch({ from: "/signed-in/$environment/$merchantId/payments/customer" });
  if (customer !== undefined) return <Customer named={{ customerRef: customer }} />;
  return email === undefined ? <NoCustomer /> : <Customer named={{ email }} />;
}

function Customer({ named }: { named: Named }) {
  const { merchantId, environment, role } = useScope();
  const isReferred = "customerRef" in named;
  const by = isReferred
    ? { case: "customerRef" as const, value: named.customerRef }
    : { case: "email" as const, value: named.email };
  const request = { merchantId, environment, customer: by };
  const { data, error, refetch } = useQuery(PaymentService.method.getCustomerTotals, request);
  const hasPayments = (data?.totals.length ?? 0) > 0;
  return (
    <>
      <PageHead
        title="Customer"
        actions={includesRole(role, Role.OWNER) && (hasPayments || isReferred) && <Erase named={named} />}
      >
        <bdi>{visible(by.value)}</bdi>
      </PageHead>
      {error && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading what="The customer" />}
      {data && !hasPayments && <NoPayments isReferred={isReferred} />}
      {data && hasPayments && <Totals totals={data.totals} />}
      {isReferred && <CustomerStored customerRef={named.customerRef} />}
      {hasPayments && (
        <>
          <Payments named={named} />
          <Refunds named={named} />
        </>
      )}
    </>
  );
}

function NoCustomer() {
  return (
    <>
      <h1>Customer</h1>
      <NoPayments isReferred={false} />
    </>
  );
}

function NoPayments({ isReferred }: { isReferred: boolean }) {
  return (
    <Empty title={isReferred ? "No payment has this customer reference" : "No payment has this address"}>
      <p>
        Only sessions that were created with a customer’s {isReferred ? "reference" : "address"} are found by it, until
        the customer’s data are erased.
      </p>
    </Empty>
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

const filterOf = (named: Named) =>
  "email" in named ? { customerEmail: named.email } : { customerRef: named.customerRef };

function Payments({ named }: { named: Named }) {
  const { merchantId, environment } = useScope();
  const query = useInfiniteQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, filter: filterOf(named), pageSize: rowsAtOnce, pageToken: "" },
    pages,
  );
  return (
    <PagedRows label="Payments" query={query} rowsOf={(page) => page.payments} head={() => <h2>Payments</h2>}>
      {(rows) => <PaymentsTable label="The customer’s payments" rows={rows.map((payment) => ({ payment }))} />}
    </PagedRows>
  );
}

function Refunds({ named }: { named: Named }) {
  const { merchantId, environment } = useScope();
  const query = useInfiniteQuery(
    RefundService.method.listRefunds,
    { merchantId, environment, filter: filterOf(named), pageSize: rowsAtOnce, pageToken: "" },
    pages,
  );
  return (
    <PagedRows label="Refunds" query={query} rowsOf={(page) => page.refunds} head={() => <h2>Refunds</h2>}>
      {(refunds) => <RefundsTable refunds={refunds} />}
    </PagedRows>
  );
}

/** Erases the customer's data, as many calls as it takes. */
function Erase({ named }: { named: Named }) {
  const { merchantId, environment } = useScope();
  const client = useClient(SettingsService);
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: async () => {
      let after = "";
      do ({ nextAfter: after } = await client.eraseCustomer({ merchantId, environment, ...named, after }));
      while (after !== "");
    },
    onSuccess: () => queries.invalidateQueries(),
    meta: { done: "The customer’s data are erased." },
  });
  return (
    <div>
      <Refusal error={erase.error} />
      <Confirm action="Erase the customer’s data" title="Erase this customer’s data?" runs={erase}>
        {"email" in named
          ? "The e-mail address, name and billing address are erased from every payment with this address. The payments stay, and can no longer be found by it. This cannot be undone."
          : "The customer’s agreements are cancelled and stored cards deleted. The e-mail address, name, billing address and your reference are erased from every payment with this reference. The payments stay, and can no longer be found by it. This cannot be undone."}
      </Confirm>
    </div>
  );
}
