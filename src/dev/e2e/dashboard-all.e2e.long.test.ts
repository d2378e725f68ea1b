import { testsTaken } from "../testing/long-only.ts";

testsTaken.all = true;
await import("./dashboard.e2e.test.ts");
