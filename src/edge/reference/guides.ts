/** The pages that an installation serves at /docs, by reader, in the order in which they are listed. PURE. */

/** A page of docs/. A guide is read and followed, in at most 1,500 words; a reference is looked up. */
export type Guide = {
  /** Its file in docs/. */
  readonly file: string;
  readonly path: string;
  readonly title: string;
  readonly about: string;
};

const guide = (file: string, title: string, about: string): Guide => ({
  file,
  title,
  about,
  path: `/docs/${file.replace(/\.md$/, "").toLowerCase()}`,
});

export const lookUp = "Look up";

/** The groups of the list. Pages for contributors are not served: they lead to source files. */
export const guideGroups: readonly { readonly readers: string; readonly guides: readonly Guide[] }[] = [
  {
    readers: "Take payments",
    guides: [
      guide("integration.md", "Integration guide", "Run a complete server, then see how it works."),
      guide(
        "sessions.md",
        "Payment sessions",
        "Describe an order, change or cancel it, and read how its payment went.",
      ),
      guide("widget.md", "Widget", "Show the card form, and try again after a decline."),
      guide("appearance.md", "Appearance", "Make the card form look like your shop."),
      guide("checkout-page-security.md", "Secure your page", "Do what PCI DSS asks of a page with a card form."),
      guide("webhooks.md", "Webhooks", "Receive the outcome of each payment in your backend."),
      guide("verify-webhooks.md", "Verify webhooks", "Check the signature in Node, Python, PHP, Go or by hand."),
      guide("capture-later.md", "Capture later", "Hold the amount now, capture it when you ship, or cancel it."),
      guide("refunds.md", "Refunds", "Refund a captured payment, whole or in part, and never twice."),
      guide("disputes.md", "Disputes", "See disputed payments and their deadlines, and pay no money back twice."),
      guide("dispute-answers.md", "Answers to disputes", "Accept a dispute, or contest it with evidence and files."),
      guide(
        "settlement.md",
        "Payouts and settlement",
        "See which payout paid a payment, what the gateway kept, and what is missing.",
      ),
      guide("apple-pay.md", "Set up Apple Pay", "Let customers pay with one tap in Safari."),
      guide("google-pay.md", "Set up Google Pay", "Let customers pay with a card of their phone or Google account."),
      guide("stored-cards.md", "Stored cards", "Let customers pay again without entering their card."),
      guide("subscriptions.md", "Subscriptions", "Charge a customer who is not present, once for each renewal."),
      guide("recovery-links.md", "Recovery links", "Send the customer a link to pay a declined renewal."),
      guide("ledger.md", "Ledger", "Compare captures, refunds, voids and chargebacks of past days with statements."),
      guide("follow-events.md", "Follow events", "Read every event in order, without gaps, from an internal service."),
      guide("keys-and-rights.md", "Keys and rights", "Give each system a key with only the rights that it needs."),
      guide("configuration-as-code.md", "Configuration in git", "Review routing and settings in a file, and apply it."),
      guide("typed-client.md", "Clients", "Call the API from TypeScript, Python and PHP."),
      guide("medusa.md", "Medusa", "Take payments in a Medusa shop."),
      guide("grpc.md", "gRPC", "Call the service from internal services."),
    ],
  },
  {
    readers: "Manage payments",
    guides: [
      guide("dashboard.md", "Dashboard", "Sign in, and read the home page."),
      guide(
        "company-sign-in.md",
        "Sign in with your company's account",
        "Let members sign in by your identity provider.",
      ),
      guide("second-person.md", "A second person", "Let changes of live wait until another member approves them."),
      guide("dashboard-payments.md", "Payments in the dashboard", "Find a payment, and capture, cancel or refund it."),
      guide("dashboard-setup.md", "Set up in the dashboard", "Connect gateways, and manage keys, people and settings."),
      guide("routing.md", "Routing", "See which gateway is called, and what follows its answer."),
      guide(
        "routing-rule.md",
        "Change the routing rule",
        "Set the order of gateways, and when the next one is called.",
      ),
      guide("routing-cases.md", "Cases and splits", "Send some payments by another plan, or compare two gateways."),
      guide("gateways.md", "Gateways", "Connect accounts, and replace their credentials."),
      guide("gateway-stripe.md", "Stripe", "Connect a Stripe account."),
      guide("gateway-adyen.md", "Adyen", "Connect an Adyen account."),
      guide("gateway-paypal.md", "PayPal", "Connect a PayPal account."),
      guide("authentication.md", "Customer authentication", "See when a customer's bank asks for a confirmation."),
      guide("authentication-providers.md", "3DS providers", "Authenticate once for all your gateways."),
      guide("card-testing.md", "Card testing", "Stop people who try stolen cards in your checkout."),
      guide("alerts.md", "Alerts", "Learn by mail and chat when a gateway, an endpoint or a hold needs you."),
      guide("analytics.md", "Analytics", "Read approval, failover and technical failure over time."),
    ],
  },
  {
    readers: "Run an installation",
    guides: [
      guide("running.md", "Running it locally", "Start everything on one machine, with your ports and servers."),
      guide("going-live.md", "Going live", "Work through the checklist before the first real payment."),
      guide("deploying.md", "Deploying", "Choose a way to deploy, and create what each needs."),
      guide("deploying-systemd.md", "Deploy by systemd", "Run each role from a checkout, behind nginx or Caddy."),
      guide("deploying-compose.md", "Deploy by compose", "Run everything on one machine, in containers."),
      guide(
        "deploying-kubernetes.md",
        "Deploy on Kubernetes",
        "Install the Helm chart once for each role, with values of your own.",
      ),
      guide("operations.md", "Operations", "Size an installation, and watch it."),
      guide("incidents.md", "Incidents", "What to do when a gateway, NATS, the database or a disk fails."),
      guide("leaked-keys.md", "A key has leaked", "Replace a key that others may have seen."),
      guide("keys.md", "Keys", "See what each key protects, and replace it."),
      guide("scaling.md", "Scaling", "Plan machines, and spread merchants over several databases."),
      guide("observability.md", "Observability", "Read log lines and traces."),
      guide("postgresql.md", "PostgreSQL", "Set up databases, TLS and poolers."),
      guide("postgresql-replicas.md", "PostgreSQL replicas", "Read from a replica, and fail over to a standby."),
      guide("postgresql-storage.md", "PostgreSQL storage", "Keep partitions, retention and vacuum in order."),
      guide("nats.md", "NATS", "Set up streams and accounts."),
      guide("webhook-operations.md", "Running webhooks", "Set up mail and streams for the workers that send webhooks."),
      guide("vault.md", "Card vaults", "Choose and run a vault."),
      guide("wallets.md", "Keys and tokens of wallets", "Replace a key of Apple Pay or Google Pay."),
      guide("external-vault.md", "External vault", "Keep cards in another company's vault."),
      guide("backup.md", "Backup and restore", "Back up, restore, and rehearse both."),
      guide("retention.md", "Erasure and retention", "Erase a customer, and choose how long data is kept."),
      guide("upgrades.md", "Upgrades", "Replace every process without an outage."),
      guide(
        "supply-chain.md",
        "Supply chain and network",
        "See where each part comes from, and which connections leave.",
      ),
    ],
  },
  {
    readers: "Review its safety",
    guides: [
      guide("security.md", "Card data", "See who handles a card, and how it is masked."),
      guide("threats.md", "Threats and protections", "See who could steal a card, and what stops them."),
      guide("members.md", "Members and sign-in", "See how people sign in, and who may change what."),
    ],
  },
  {
    readers: lookUp,
    guides: [
      guide("errors.md", "Errors", "Every error code, and what to do about it."),
      guide("webhook-events.md", "Events", "Every type of webhook, with an example body."),
      guide("webhook-delivery.md", "Webhook delivery", "Schedule, order, alerts, source addresses and refused URLs."),
      guide("widget-reference.md", "Widget reference", "Every option, method, callback and error of the widget."),
      guide("test-cards.md", "Test cards", "Every outcome that you can try, the rare ones too."),
      guide("declines.md", "Decline codes", "Every decline of every gateway."),
      guide("rate-limits.md", "Rate limits", "Requests that a merchant, a session and an address may send."),
      guide("configuration.md", "Settings", "Every setting, with default and bounds."),
      guide("doctor.md", "Doctor", "Every check of an installation, and what to do."),
      guide("metrics.md", "Metrics", "Every metric of every role."),
      guide("runbooks.md", "Runbooks", "What to do when an alert fires, for each alert."),
      guide(
        "gateway-tests.md",
        "Tests of gateways",
        "What each connector was tested against, and what to test yourself.",
      ),
      guide("restore-details.md", "What a restore does", "What it finds, what it changes, and what it cannot know."),
      guide("safety.md", "Payment safety", "Why a session cannot capture twice."),
      guide(
        "capture-refund-safety.md",
        "Safety of captures and refunds",
        "Why a hold is captured once and a refund made once.",
      ),
      guide("renewal-safety.md", "Safety of renewals", "Why a renewal is captured at most once."),
      guide("CHANGELOG.md", "Changelog", "What changed in each version."),
    ],
  },
];

export const guides: readonly Guide[] = guideGroups.flatMap((group) => group.guides);

/** The pictures that they show, by path; the files are in docs/. */
export const guidePictures: readonly string[] = [
  ...["analytics", "gateway-connect", "home-dark", "payment", "payments", "payments-phone", "routing"].map(
    (name) => `dashboard/${name}`,
  ),
  "dashboard/webhook-delivery",
  ...["arabic", "brands", "dark", "default", "floating", "no-summary", "square", "warm"].map(
    (name) => `appearance/${name}`,
  ),
].map((name) => `/docs/${name}.png`);
