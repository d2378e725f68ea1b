/** Braking against card testing: its state with a person's hold, and its periods. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Braking, BrakingPeriod } from "../../../../gen/dashboard/v1/braking_pb.ts";
import { Role } from "../../../../gen/dashboard/v1/role_pb.ts";
import { SetBrakingRequest_Hold as Hold, SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { includesRole } from "../../roles/role-rank.ts";
import { Button } from "../parts/button.tsx";
import { RecordTable } from "../parts/record-table.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { Row } from "./setting-row.tsx";

const times = [
  [1, "1 hour"],
  [4, "4 hours"],
  [24, "1 day"],
  [168, "7 days"],
] as const;

/** The row. A hold is set at once. */
export function BrakingForm({ braking, onChange }: { braking: Braking | undefined; onChange: () => Promise<unknown> }) {
  const { merchantId, environment, role } = useScope();
  const client = useClient(SettingsService);
  const [hours, setHours] = useState(1);
  const save = useMutation({
    mutationFn: (hold: Hold) =>
      client.setBraking({ merchantId, environment, hold, hours: hold === Hold.NONE ? 0 : hours }),
    onSuccess: onChange,
  });
  const isDisabled = !includesRole(role, Role.DEVELOPER) || save.isPending;
  const hold = braking?.hold;
  return (
    <Row
      title="Card testing"
      explanation="When unusually many cards are declined, as when thieves test stolen card numbers, payments are restricted automatically (braking): cards that were never approved here are authenticated where possible, and no second gateway is tried after a decline. Customers are not told the reason."
    >
      <p role="status">
        <State braking={braking} />
      </p>
      <Refusal error={save.error} />
      {hold ? (
        <div className="row">
          <Button isDisabled={isDisabled} onPress={() => save.mutate(Hold.NONE)}>
            Remove the override
          </Button>
        </div>
      ) : (
        <div className="row">
          <label>
            Override for{" "}
            <select
              className="select"
              value={hours}
              disabled={isDisabled}
              onChange={({ target }) => setHours(Number(target.value))}
            >
              {times.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <Button isDisabled={isDisabled} onPress={() => save.mutate(Hold.ON)}>
            Switch braking on
          </Button>
          <Button isDisabled={isDisabled} onPress={() => save.mutate(Hold.OFF)}>
            Switch braking off
          </Button>
        </div>
      )}
    </Row>
  );
}

function State({ braking }: { braking: Braking | undefined }) {
  const { now, hold } = braking ?? {};
  return (
    <>
      {now?.beganAt ? (
        <>
          <strong>Payments have been restricted</strong> since <Moment at={now.beganAt} />.{" "}
          {`At most ${cardsInWords(now)} within ten minutes; the threshold is ${now.threshold}.`}
        </>
      ) : (
        <strong>Payments are not restricted.</strong>
      )}
      {hold?.until && (
        <>
          {" "}
          <bdi>{nameOf(hold.heldBy)}</bdi> {hold.on ? "switched braking on" : "switched braking off"} until{" "}
          <Moment at={hold.until} />.
        </>
      )}
    </>
  );
}

/** Returns a person's name without the id that the audit trail has beside it. */
const nameOf = (person: string) => person.replace(/ \(\w+\)$/, "");

const cardsInWords = ({ cards }: BrakingPeriod) =>
  cards === 1 ? "1 card was declined" : `${cards} cards were declined`;

const periodColumns = ["Began", "Ended", "Most cards declined in ten minutes", "Threshold", "Cause"].map((name) => ({
  name,
}));

/** The times in which payments were braked; nothing where there are none. */
export function BrakingPeriods({ periods }: { periods: readonly BrakingPeriod[] }) {
  if (periods.length === 0) return null;
  return (
    <section className="card" aria-labelledby="braking">
      <h2 id="braking">Restricted because of card testing</h2>
      <RecordTable
        label="Times in which payments were restricted"
        columns={periodColumns}
        rows={periods.map((period) => ({
          key: String(period.beganAt?.seconds),
          cells: [
            period.beganAt && <Moment at={period.beganAt} />,
            period.endedAt ? <Moment key="end" at={period.endedAt} /> : "not yet",
            period.cards,
            period.threshold,
            period.begunBy ? <bdi key="by">{`Switched on by ${nameOf(period.begunBy)}`}</bdi> : "Declined cards",
          ],
        }))}
      />
    </section>
  );
}
