/** The tests of ALWAYS with every test card. */
import { everyCard } from "./every-card.fixture.ts";

everyCard.isPlayed = true;

await import("./always-authenticated.db.test.ts");
