/** A payment's timeline, step by step: time, actor, event and reason. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type TimelineStep, TimelineStep_Tone } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { visible } from "../parts/copied-text.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { dayOf } from "../payment-address.ts";
import { ScopeLink } from "../scope.ts";

const tones: Readonly<Record<number, "good" | "warn" | "bad">> = {
  [TimelineStep_Tone.GOOD]: "good",
  [TimelineStep_Tone.WARN]: "warn",
  [TimelineStep_Tone.BAD]: "bad",
};

/** The list, oldest first. */
export function PaymentTimeline({ steps }: { steps: readonly TimelineStep[] }) {
  return (
    <section className="stack" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol className="timeline card">
        {steps.map((step, index) => {
          const isNewDay = index === 0 || dayAt(step.at) !== dayAt(steps[index - 1]?.at);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added, and two may say the same
            <li key={index} data-tone={tones[step.tone]}>
              <ExactTime at={step.at} withDay={isNewDay} />
              <div>
                <p>
                  <span className="actor">
                    <bdi>{visible(nameOfGateway(step.actor))}</bdi>:
                  </span>{" "}
                  <bdi>{visible(nameGatewaysIn(step.step))}</bdi>
                  {step.endpointId && step.eventId && (
                    <>
                      {" "}
                      <ScopeLink
                        to="./webhooks/deliveries/$endpointId/$eventId"
                        params={{ endpointId: step.endpointId, eventId: step.eventId }}
                      >
                        See its delivery attempts
                      </ScopeLink>
                    </>
                  )}
                </p>
                {step.why && (
                  <p className="soft small">
                    <bdi>{visible(nameGatewaysIn(step.why))}</bdi>
                  </p>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** Milliseconds, which distinguish the steps; in UTC when hovered or focused. */
function ExactTime({ at, withDay }: { at: Timestamp | undefined; withDay: boolean }) {
  if (at === undefined) return <span />;
  const date = timestampDate(at);
  const utc = `${date.toISOString().replace("T", " ").replace("Z", "")} UTC`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what pointing shows must be shown to a keyboard too (WCAG 1.4.13)
    <time className="exact" dateTime={date.toISOString()} tabIndex={0} data-utc={utc}>
      {withDay && <span className="day">{day.format(date)}</span>}
      {clock.format(date)}
      <span className="visually-hidden">, {utc}</span>
    </time>
  );
}

function dayAt(at: Timestamp | undefined): string {
  return at === undefined ? "" : dayOf(timestampDate(at));
}
