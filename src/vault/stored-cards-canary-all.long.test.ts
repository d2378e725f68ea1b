import { testsTaken } from "../dev/testing/long-only.ts";

testsTaken.all = true;
await import("./stored-cards-canary.db.test.ts");
