/** The page's addresses. Each page's code is loaded when it is opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { readLedgerSearch } from "./ledger-address.ts";
import { readAnalyticsSearch } from "./pages/analytics-search.ts";
import { readAuditSearch } from "./pages/audit-search.ts";
import { Failure, Missing } from "./parts/states.tsx";
import { readCustomerSearch, readPaymentSearch, readRefundSearch } from "./payment-address.ts";
import { readLineSearch, readPayoutSearch, readSettlementSearch } from "./settlement-address.ts";
import { readDeliverySearch } from "./webhook-address.ts";

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: Missing,
  errorComponent: ({ error }) => <Failure error={error} />,
});

/** Returns a path of this site, or undefined: `//elsewhere` and `/\\elsewhere` would lead away. */
function ownPath(text: string): string | undefined {
  if (!URL.canParse(text, location.origin)) return undefined;
  const { origin, pathname, search } = new URL(text, location.origin);
  return origin === location.origin ? pathname + search : undefined;
}

function readNext(search: Record<string, unknown>): { next?: string } {
  const next = typeof search.next === "string" ? ownPath(search.next) : undefined;
  return next === undefined ? {} : { next };
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: readNext,
  component: lazyRouteComponent(() => import("./pages/sign-in.tsx"), "SignInPage"),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: lazyRouteComponent(() => import("./pages/invitation.tsx"), "InvitationPage"),
});

const newPassword = createRoute({
  getParentRoute: () => root,
  path: "/new-password",
  component: lazyRouteComponent(() => import("./pages/new-password.tsx"), "NewPasswordPage"),
});

const alertAddress = createRoute({
  getParentRoute: () => root,
  path: "/alert-address",
  component: lazyRouteComponent(() => import("./pages/alert-address.tsx"), "AlertAddressPage"),
});

const companySignIn = createRoute({
  getParentRoute: () => root,
  path: "/company-sign-in",
  validateSearch: (search: Record<string, unknown>): { refused: string } => ({ refused: String(search.refused ?? "") }),
  component: lazyRouteComponent(() => import("./pages/company-sign-in.tsx"), "CompanySignInPage"),
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: lazyRouteComponent(() => import("./signed-in.tsx"), "SignedIn"),
});

const start = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/start.tsx"), "StartPage"),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => import("./pages/account.tsx"), "AccountPage"),
});

const secondFactor = createRoute({
  getParentRoute: () => signedIn,
  path: "/second-factor",
  validateSearch: readNext,
  component: lazyRouteComponent(() => import("./pages/second-factor.tsx"), "SecondFactorPage"),
});

const newMerchant = createRoute({
  getParentRoute: () => signedIn,
  path: "/new-merchant",
  component: lazyRouteComponent(() => import("./pages/new-merchant.tsx"), "NewMerchantPage"),
});

/** A merchant in an environment; every page about it is a child. */
const scope = createRoute({
  getParentRoute: () => signedIn,
  path: "/$environment/$merchantId",
  beforeLoad: ({ params }) => {
    if (params.environment !== "test" && params.environment !== "live") throw redirect({ to: "/" });
  },
  component: lazyRouteComponent(() => import("./shell.tsx"), "Shell"),
});

/** A page about the scope without filters in its address. */
function scopePage<const Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) {
  return createRoute({ getParentRoute: () => scope, path, component });
}

const scopeIndex = createRoute({
  getParentRoute: () => scope,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/$environment/$merchantId/home", params });
  },
});

const home = scopePage(
  "/home",
  lazyRouteComponent(() => import("./pages/home.tsx"), "HomePage"),
);

const payments = createRoute({
  getParentRoute: () => scope,
  path: "/payments",
  validateSearch: readPaymentSearch,
  component: lazyRouteComponent(() => import("./pages/payments.tsx"), "PaymentsPage"),
});

const payment = createRoute({
  getParentRoute: () => scope,
  path: "/payments/$sessionId",
  // Opens the form of a refund.
  validateSearch: (search: Record<string, unknown>): { refund?: "duplicate" } =>
    search.refund === "duplicate" ? { refund: "duplicate" } : {},
  component: lazyRouteComponent(() => import("./pages/payment.tsx"), "PaymentPage"),
});

const customer = createRoute({
  getParentRoute: () => scope,
  path: "/payments/customer",
  validateSearch: readCustomerSearch,
  component: lazyRouteComponent(() => import("./pages/customer.tsx"), "CustomerPage"),
});

const refunds = createRoute({
  getParentRoute: () => scope,
  path: "/refunds",
  validateSearch: readRefundSearch,
  component: lazyRouteComponent(() => import("./pages/refunds.tsx"), "RefundsPage"),
});

const ledger = createRoute({
  getParentRoute: () => scope,
  path: "/ledger",
  validateSearch: readLedgerSearch,
  component: lazyRouteComponent(() => import("./pages/ledger.tsx"), "LedgerPage"),
});

const payouts = createRoute({
  getParentRoute: () => scope,
  path: "/payouts",
  validateSearch: readPayoutSearch,
  component: lazyRouteComponent(() => import("./pages/payouts.tsx"), "PayoutsPage"),
});

const payout = createRoute({
  getParentRoute: () => scope,
  path: "/payouts/$payoutId",
  validateSearch: readLineSearch,
  component: lazyRouteComponent(() => import("./pages/payout.tsx"), "PayoutPage"),
});

const settlement = createRoute({
  getParentRoute: () => scope,
  path: "/settlement",
  validateSearch: readSettlementSearch,
  component: lazyRouteComponent(() => import("./pages/settlement.tsx"), "SettlementPage"),
});

const analytics = createRoute({
  getParentRoute: () => scope,
  path: "/analytics",
  validateSearch: readAnalyticsSearch,
  component: lazyRouteComponent(() => import("./pages/analytics.tsx"), "AnalyticsPage"),
});

const keys = scopePage(
  "/keys",
  lazyRouteComponent(() => import("./pages/keys.tsx"), "KeysPage"),
);

const wallets = scopePage(
  "/wallets",
  lazyRouteComponent(() => import("./pages/wallets.tsx"), "WalletsPage"),
);

const routing = createRoute({
  getParentRoute: () => scope,
  path: "/routing",
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: "cases" | "authentication" | "history" } =>
    tab === "cases" || tab === "authentication" || tab === "history" ? { tab } : {},
  component: lazyRouteComponent(() => import("./pages/routing.tsx"), "RoutingPage"),
});

const gateways = scopePage(
  "/gateways",
  lazyRouteComponent(() => import("./pages/gateways.tsx"), "GatewaysPage"),
);

const webhooks = scopePage(
  "/webhooks",
  lazyRouteComponent(() => import("./pages/webhooks.tsx"), "WebhooksPage"),
);
const webhookAlerts = scopePage(
  "/webhooks/alerts",
  lazyRouteComponent(() => import("./pages/webhook-alerts.tsx"), "WebhookAlertsPage"),
);
const webhookDeliveries = createRoute({
  getParentRoute: () => scope,
  path: "/webhooks/deliveries",
  validateSearch: readDeliverySearch,
  component: lazyRouteComponent(() => import("./pages/webhook-deliveries.tsx"), "WebhookDeliveriesPage"),
});

const webhookDelivery = scopePage(
  "/webhooks/deliveries/$endpointId/$eventId",
  lazyRouteComponent(() => import("./pages/webhook-delivery.tsx"), "WebhookDeliveryPage"),
);

const webhookPages = [webhooks, webhookAlerts, webhookDeliveries, webhookDelivery] as const;

const team = scopePage(
  "/team",
  lazyRouteComponent(() => import("./pages/team.tsx"), "TeamPage"),
);

const audit = createRoute({
  getParentRoute: () => scope,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import("./pages/audit.tsx"), "AuditPage"),
});

const settings = scopePage(
  "/settings",
  lazyRouteComponent(() => import("./pages/settings.tsx"), "SettingsPage"),
);

const copyToLive = scopePage(
  "/copy-to-live",
  lazyRouteComponent(() => import("./pages/copy-to-live.tsx"), "CopyToLivePage"),
);

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    invitation,
    newPassword,
    alertAddress,
    companySignIn,
    signedIn.addChildren([
      start,
      account,
      secondFactor,
      newMerchant,
      scope.addChildren([
        scopeIndex,
        home,
        payments,
        payment,
        customer,
        refunds,
        ledger,
        payouts,
        payout,
        settlement,
        analytics,
        routing,
        gateways,
        ...webhookPages,
        keys,
        wallets,
        team,
        audit,
        settings,
        copyToLive,
      ]),
    ]),
  ]),
  defaultPreload: "intent",
  // In the frame of the page that failed, so that its navigation stays.
  defaultErrorComponent: ({ error }) => <Failure error={error} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
