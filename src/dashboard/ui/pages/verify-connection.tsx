/** The button that verifies an account. In live it asks whether payments are routed there afterwards. */
import { useState } from "react";
import { Button } from "../parts/button.tsx";
import { useScope } from "../scope.ts";

type VerifyProps = {
  label: string;
  isProvider: boolean;
  isPending: boolean;
  /** Called with the answer; undefined if there is no question. */
  onVerify: (routePayments: boolean | undefined) => void;
};

export function VerifyConnection({ label, isProvider, isPending, onVerify }: VerifyProps) {
  const { environmentName } = useScope();
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    const isAsked = environmentName === "live" && !isProvider;
    return (
      <Button kind="main" isPending={isPending} onPress={() => (isAsked ? setAsking(true) : onVerify(undefined))}>
        {label}
      </Button>
    );
  }
  const answer = (routePayments: boolean) => () => {
    setAsking(false);
    onVerify(routePayments);
  };
  return (
    <fieldset className="question">
      <legend>Route live payments here?</legend>
      <p className="soft small">
        If yes, live payments can go to this account as soon as it is verified, after the gateways that you have now.
      </p>
      <div className="row">
        <Button kind="main" onPress={answer(true)} autoFocus>
          Yes, verify and route
        </Button>
        <Button onPress={answer(false)}>No, only verify</Button>
        <Button onPress={() => setAsking(false)}>Cancel</Button>
      </div>
    </fieldset>
  );
}
