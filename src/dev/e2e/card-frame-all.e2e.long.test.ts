import { testsTaken } from "../testing/long-only.ts";

testsTaken.all = true;
await import("./card-frame.e2e.test.ts");
