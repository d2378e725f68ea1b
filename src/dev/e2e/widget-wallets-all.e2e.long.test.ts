import { testsTaken } from "../testing/long-only.ts";

testsTaken.all = true;
await import("./widget-wallets.e2e.test.ts");
