import { testsTaken } from "../../dev/testing/long-only.ts";

testsTaken.all = true;
await import("./apple-token.test.ts");
