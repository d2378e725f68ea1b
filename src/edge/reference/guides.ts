/** The guides that an installation serves at /docs, by reader, in the order in which they are listed. PURE. */

/** A page of docs/. */
export type Guide = {
  /** Its file in docs/. */
  readonly file: string;
  readonly path: string;
  readonly title: string;
  /** The task that it helps with. */
  readonly about: string;
};

const guide = (file: string, title: string, about: string): Guide => ({
  ...{ file, title, about },
  path: `/docs/${file.replace(/\.md$/, "").toLowerCase()}`,
});

/** The groups of the list. Pages for contributors are not served: they lead to source files. */
export const guideGroups: readonly { readonly readers: string; readonly guides: readonly Guide[] }[] = [
  {
    readers: "Take payments",
    guides: [
      guide("integration.md", "Integration guide", "Create a session, mount the widget, verify the webhook."),
      guide("appearance.md", "Appearance", "Make the card form look like your shop."),
      guide("ledger.md", "Ledger", "Every capture, refund and void of past days, to compare with statements."),
      guide("refunds.md", "Refunds", "Refund a captured payment, whole or in part, and never twice."),
      guide("capture-later.md", "Capture later", "Hold the amount now, capture it when you ship, or cancel it."),
      guide("webhooks.md", "Webhooks", "Receive and verify events in Node, Python, PHP, Go or by hand."),
      guide("errors.md", "Errors", "Look up an error code, and what to do about it."),
      guide("test-cards.md", "Test cards", "Try every outcome, the rare ones too."),
      guide("declines.md", "Decline codes", "Look up what a gateway's decline means."),
      guide("grpc.md", "gRPC", "Call the service from internal services."),
    ],
  },
  {
    readers: "Manage payments",
    guides: [
      guide("dashboard.md", "Dashboard", "Find payments, and change the set-up, with the command for each task."),
      guide("routing.md", "Routing", "Choose the order of gateways, and when the next one is called."),
      guide("gateways.md", "Gateways", "Connect Stripe, Adyen and PayPal."),
      guide("authentication.md", "Customer authentication", "Authenticate once for all gateways, with a 3DS provider."),
      guide("alerts.md", "Alerts", "Learn by mail and chat when a gateway, an endpoint or a hold needs you."),
      guide("analytics.md", "Analytics", "Read approval, failover and technical failure over time."),
    ],
  },
  {
    readers: "Run an installation",
    guides: [
      guide("running.md", "Running it locally", "Start everything on one machine, with your ports and servers."),
      guide("going-live.md", "Going live", "Work through the checklist before the first real payment."),
      guide("deploying.md", "Deploying", "Use systemd, the container image, compose or Kubernetes."),
      guide("configuration.md", "Settings", "Look up every setting, with default and bounds."),
      guide("doctor.md", "Doctor", "Check an installation, and learn what to do."),
      guide("operations.md", "Operations", "Size it, watch it, and follow a runbook for each alert."),
      guide("scaling.md", "Scaling", "Plan machines, and spread merchants over several databases."),
      guide("observability.md", "Observability", "Read log lines, traces and metrics."),
      guide("postgresql.md", "PostgreSQL", "Set up databases, poolers and replicas."),
      guide("nats.md", "NATS", "Set up streams and accounts."),
      guide("vault.md", "Card vaults", "Choose and run a vault."),
      guide("backup.md", "Backup and restore", "Back up, restore, and rehearse both."),
      guide("upgrades.md", "Upgrades", "Replace every process without an outage."),
      guide("CHANGELOG.md", "Changelog", "See what changed in each version."),
    ],
  },
  {
    readers: "Review its safety",
    guides: [
      guide("safety.md", "Payment safety", "Follow why a session cannot capture twice."),
      guide("security.md", "Card data", "See who handles a card, and what PCI DSS asks of you."),
    ],
  },
];

/** All of them. */
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
