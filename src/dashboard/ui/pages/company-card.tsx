import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Failure } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { useClient } from "../use-client.ts";

/** The card; empty if the installation has no identity provider. */
export function CompanyCard() {
  const { data, error, refetch } = useQuery(SignInService.method.listIdentities, {});
  const client = useClient(SignInService);
  const link = useMutation({
    mutationFn: async (providerId: string) => {
      const { authorizationUrl } = await client.beginCompanyLink({ providerId });
      location.assign(authorizationUrl);
    },
  });
  const unlink = useMutation({
    mutationFn: (issuer: string) => client.removeIdentity({ issuer }),
    onSuccess: () => refetch(),
    meta: { done: "The account is unlinked." },
  });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data || data.identities.length + data.linkable.length === 0) return null;
  return (
    <section className="card" aria-labelledby="company">
      <div className="page-head">
        <div>
          <h2 id="company">Company account</h2>
          <p>Sign in with the account that you have at your company.</p>
        </div>
        <div className="row">
          {data.linkable.map(({ providerId, name }) => (
            <Button key={providerId} onPress={() => link.mutate(providerId)} isPending={link.isPending}>
              Link {name}
            </Button>
          ))}
        </div>
      </div>
      <Refusal error={link.error ?? unlink.error} />
      {data.identities.length > 0 && (
        <ul className="form">
          {data.identities.map(({ issuer, providerName, email, createdAt }) => (
            <li className="page-head" key={issuer}>
              <div>
                <bdi>{providerName}</bdi>
                <div className="soft small">
                  {email && <bdi>{email} · </bdi>}Linked <Moment at={createdAt} />
                </div>
              </div>
              <Confirm
                action="Unlink"
                title={`Unlink ${providerName}?`}
                onConfirm={() => unlink.mutate(issuer)}
                isPending={unlink.isPending}
              >
                You can no longer sign in with it, and every sign-in that began with it ends.
              </Confirm>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
