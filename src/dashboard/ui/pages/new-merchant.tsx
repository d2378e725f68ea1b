/** Creates a merchant: its name, then its keys, shown once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Environment } from "../../../../gen/dashboard/v1/environment_pb.ts";
import { type OpenMerchantResponse, SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { CopyLine } from "../parts/copy-line.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { LoneFrame } from "../parts/lone-frame.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ShownSecret } from "../parts/secret.tsx";
import { useSignIn } from "../signed-in.tsx";
import { useClient } from "../use-client.ts";
import { mayCreateMerchant } from "./may-create-merchant.ts";

export function NewMerchantPage() {
  const { member } = useSignIn();
  const client = useClient(SignInService);
  const queries = useQueryClient();
  const open = useMutation({
    mutationFn: (name: string) => client.openMerchant({ name }),
    // The member's rights, which the page of the merchant needs.
    onSuccess: () => queries.invalidateQueries(),
  });
  return (
    <LoneFrame>
      <PageHead
        title={open.data ? `${open.data.merchant?.name} is created` : "Create a merchant"}
        actions={<Link to="/account">Your account</Link>}
      >
        {open.data
          ? "Store the secret keys now. They are shown only once."
          : "A merchant has its own gateways, routing, keys, payments and team, apart from every other one."}
      </PageHead>
      {open.data ? (
        <Created answer={open.data} />
      ) : mayCreateMerchant(member?.memberships) ? (
        <section className="card" aria-label="New merchant">
          <DataForm onData={(fields) => open.mutate(String(fields.get("name")).trim())}>
            <Field
              label="Name"
              name="name"
              hint="Customers see it above the card form. It cannot be changed later."
              maxLength={100}
              autoComplete="organization"
              isRequired
              autoFocus
            />
            <Refusal error={open.error} />
            <div>
              <Button kind="main" type="submit" isPending={open.isPending}>
                Create
              </Button>
            </div>
          </DataForm>
        </section>
      ) : (
        <p className="banner">Only an owner of a merchant can create another one. Ask your operator.</p>
      )}
    </LoneFrame>
  );
}

function Created({ answer: { merchant, keys } }: { answer: OpenMerchantResponse }) {
  const merchantId = merchant?.merchantId ?? "";
  return (
    <>
      {keys.map(({ environment, secretKey, publishableKey }) => {
        const name = environment === Environment.LIVE ? "Live" : "Test";
        return (
          <section className="card" key={environment} aria-label={`Keys of ${name.toLowerCase()}`}>
            <h2>{name}</h2>
            <ShownSecret label={`Secret key of ${name.toLowerCase()}`} secret={secretKey} />
            <CopyLine
              label={`Publishable key of ${name.toLowerCase()}`}
              text={publishableKey}
              hint="Also on the page API keys."
            />
          </section>
        );
      })}
      <div>
        <Link
          className="button"
          data-kind="main"
          to="/$environment/$merchantId/home"
          params={{ environment: "test", merchantId }}
        >
          Set up {merchant?.name}
        </Link>
      </div>
    </>
  );
}
