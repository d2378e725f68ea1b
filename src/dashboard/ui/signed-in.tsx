/** The members' part of the page: it loads the current sign-in before it shows anything. */
import { useQuery } from "@connectrpc/connect-query";
import { Outlet } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import { type GetCurrentSignInResponse, SignInService } from "../../../gen/dashboard/v1/sign_in_pb.ts";
import { Proof } from "./parts/prove.tsx";
import { Failure, Loading } from "./parts/states.tsx";
import { codeOf } from "./rpc.ts";

const current = createContext<GetCurrentSignInResponse | undefined>(undefined);

export function useSignIn(): GetCurrentSignInResponse {
  const signIn = useContext(current);
  if (signIn === undefined) throw new Error("this is shown to members only");
  return signIn;
}

export function SignedIn() {
  const { data, error, refetch } = useQuery(SignInService.method.getCurrentSignIn, {});
  if (data !== undefined) {
    return (
      <current.Provider value={data}>
        <Outlet />
        <Proof signIn={data} />
      </current.Provider>
    );
  }
  const isElsewhere = error !== null && codeOf(error) === "sign_in_required";
  return (
    <div className="lone">
      {error === null || isElsewhere ? <Loading what="Your sign-in" /> : <Failure error={error} onRetry={refetch} />}
    </div>
  );
}
