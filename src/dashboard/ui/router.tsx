/** The page's addresses. Each page's code is loaded when it is opened. */
import {
  type AnyRoute,
  type AnyValidator,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
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

function component<Module extends object>(load: () => Promise<Module>, name: keyof Module) {
  return lazyRouteComponent(load as () => Promise<Record<string, RouteComponent>>, String(name));
}

function page<Parent extends AnyRoute, const Path extends string, Module extends object>(
  parent: Parent,
  path: Path,
  ...lazy: Parameters<typeof component<Module>>
) {
  return createRoute({ getParentRoute: () => parent, path, component: component(...lazy) });
}

/** A page with search parameters in its address. */
function searchPage<
  Parent extends AnyRoute,
  const Path extends string,
  Read extends AnyValidator,
  Module extends object,
>(parent: Parent, path: Path, validateSearch: Read, ...lazy: Parameters<typeof component<Module>>) {
  return createRoute({ getParentRoute: () => parent, path, validateSearch, component: component(...lazy) });
}

const signIn = searchPage(root, "/sign-in", readNext, () => import("./pages/sign-in.tsx"), "SignInPage");
const invitation = page(root, "/invitation", () => import("./pages/invitation.tsx"), "InvitationPage");
const newPassword = page(root, "/new-password", () => import("./pages/new-password.tsx"), "NewPasswordPage");
const alertAddress = page(root, "/alert-address", () => import("./pages/alert-address.tsx"), "AlertAddressPage");
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

const start = page(signedIn, "/", () => import("./pages/start.tsx"), "StartPage");
const account = page(signedIn, "/account", () => import("./pages/account.tsx"), "AccountPage");
const secondFactor = searchPage(
  signedIn,
  "/second-factor",
  readNext,
  () => import("./pages/second-factor.tsx"),
  "SecondFactorPage",
);
const newMerchant = page(signedIn, "/new-merchant", () => import("./pages/new-merchant.tsx"), "NewMerchantPage");

/** A merchant in an environment; every page about it is a child. */
const scope = createRoute({
  getParentRoute: () => signedIn,
  path: "/$environment/$merchantId",
  beforeLoad: ({ params }) => {
    if (params.environment !== "test" && params.environment !== "live") throw redirect({ to: "/" });
  },
  component: lazyRouteComponent(() => import("./shell.tsx"), "Shell"),
});

const scopeIndex = createRoute({
  getParentRoute: () => scope,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/$environment/$merchantId/home", params });
  },
});

const home = page(scope, "/home", () => import("./pages/home.tsx"), "HomePage");
const payments = searchPage(
  scope,
  "/payments",
  readPaymentSearch,
  () => import("./pages/payments.tsx"),
  "PaymentsPage",
);
const payment = createRoute({
  getParentRoute: () => scope,
  path: "/payments/$sessionId",
  // Opens the form of a refund.
  validateSearch: (search: Record<string, unknown>): { refund?: "duplicate" } =>
    search.refund === "duplicate" ? { refund: "duplicate" } : {},
  component: lazyRouteComponent(() => import("./pages/payment.tsx"), "PaymentPage"),
});

const customer = searchPage(
  scope,
  "/payments/customer",
  readCustomerSearch,
  () => import("./pages/customer.tsx"),
  "CustomerPage",
);
const refunds = searchPage(scope, "/refunds", readRefundSearch, () => import("./pages/refunds.tsx"), "RefundsPage");
const ledger = searchPage(scope, "/ledger", readLedgerSearch, () => import("./pages/ledger.tsx"), "LedgerPage");
const payouts = searchPage(scope, "/payouts", readPayoutSearch, () => import("./pages/payouts.tsx"), "PayoutsPage");
const payout = searchPage(
  scope,
  "/payouts/$payoutId",
  readLineSearch,
  () => import("./pages/payout.tsx"),
  "PayoutPage",
);
const settlement = searchPage(
  scope,
  "/settlement",
  readSettlementSearch,
  () => import("./pages/settlement.tsx"),
  "SettlementPage",
);
const analytics = searchPage(
  scope,
  "/analytics",
  readAnalyticsSearch,
  () => import("./pages/analytics.tsx"),
  "AnalyticsPage",
);
const keys = page(scope, "/keys", () => import("./pages/keys.tsx"), "KeysPage");
const wallets = page(scope, "/wallets", () => import("./pages/wallets.tsx"), "WalletsPage");
const routing = createRoute({
  getParentRoute: () => scope,
  path: "/routing",
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: "cases" | "authentication" | "history" } =>
    tab === "cases" || tab === "authentication" || tab === "history" ? { tab } : {},
  component: lazyRouteComponent(() => import("./pages/routing.tsx"), "RoutingPage"),
});

const gateways = page(scope, "/gateways", () => import("./pages/gateways.tsx"), "GatewaysPage");
const webhooks = page(scope, "/webhooks", () => import("./pages/webhooks.tsx"), "WebhooksPage");
const webhookAlerts = page(scope, "/webhooks/alerts", () => import("./pages/webhook-alerts.tsx"), "WebhookAlertsPage");
const webhookDeliveries = searchPage(
  scope,
  "/webhooks/deliveries",
  readDeliverySearch,
  () => import("./pages/webhook-deliveries.tsx"),
  "WebhookDeliveriesPage",
);
const webhookDelivery = page(
  scope,
  "/webhooks/deliveries/$endpointId/$eventId",
  () => import("./pages/webhook-delivery.tsx"),
  "WebhookDeliveryPage",
);
const webhookPages = [webhooks, webhookAlerts, webhookDeliveries, webhookDelivery] as const;

const team = page(scope, "/team", () => import("./pages/team.tsx"), "TeamPage");
const audit = searchPage(scope, "/audit", readAuditSearch, () => import("./pages/audit.tsx"), "AuditPage");
const settings = page(scope, "/settings", () => import("./pages/settings.tsx"), "SettingsPage");
const copyToLive = page(scope, "/copy-to-live", () => import("./pages/copy-to-live.tsx"), "CopyToLivePage");
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
