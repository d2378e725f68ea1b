import { testsTaken } from "../testing/long-only.ts";

testsTaken.all = true;
await import("./card-frame-attacks.e2e.test.ts");
