/** Leads to the identity providers of companies, whose people sign in by their own accounts. */
import { useQuery } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { useClient } from "../use-client.ts";
import { Button } from "./button.tsx";
import { Refusal } from "./refusal.tsx";

/**
 * A button for each provider; empty if there is none. With a token, only the providers by which the invitation can be
 * accepted.
 */
export function CompanyButtons({ invitationToken = "", next = "" }: { invitationToken?: string; next?: string }) {
  const { data } = useQuery(SignInService.method.listIdentityProviders, { invitationToken }, { retry: false });
  const client = useClient(SignInService);
  const begin = useMutation({
    mutationFn: async (providerId: string) => {
      const { authorizationUrl } = await client.beginCompanySignIn({ providerId, invitationToken, next });
      location.assign(authorizationUrl);
    },
  });
  if (!data || data.providers.length === 0) return null;
  return (
    <>
      <Refusal error={begin.error} />
      {data.providers.map(({ providerId, name }) => (
        <Button
          key={providerId}
          onPress={() => begin.mutate(providerId)}
          isPending={begin.isPending && begin.variables === providerId}
        >
          Continue with {name}
        </Button>
      ))}
    </>
  );
}
