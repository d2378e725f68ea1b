/** The tests of the dashboard's pages, with each page before axe-core in each of its looks. */
import { looksTaken } from "./accessibility.ts";

looksTaken.all = true;

await import("./dashboard-shell.e2e.long.test.ts");
await import("./dashboard-account.e2e.long.test.ts");
await import("./dashboard-analytics.e2e.long.test.ts");
await import("./dashboard-holds.e2e.long.test.ts");
await import("./dashboard-payments.e2e.long.test.ts");
await import("./dashboard-refunds.e2e.long.test.ts");
await import("./dashboard-routing.e2e.long.test.ts");
await import("./dashboard-settlement.e2e.long.test.ts");
await import("./dashboard-webhooks.e2e.long.test.ts");
