/** The root of the page: data, router and session. */
import { TransportProvider } from "@connectrpc/connect-query";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Confirmation, confirmDone } from "./parts/confirmation.tsx";
import { router } from "./router.tsx";
import { codeOf, transport } from "./rpc.ts";

// An ended sign-in shows the sign-in page, whatever was requested.
const onError = (error: unknown) => {
  if (codeOf(error) === "sign_in_required") void router.navigate({ to: "/sign-in", search: here() });
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({
    onError,
    onSuccess: (_answer, _request, _context, { meta }) => {
      if (meta?.done !== undefined) confirmDone(meta.done);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && ["offline", "page_not_loaded", "unavailable"].includes(codeOf(error)),
    },
  },
});

function here(): { next?: string } {
  const { pathname, search } = location;
  return pathname === "/sign-in" ? {} : { next: pathname + search };
}

export function App() {
  return (
    <TransportProvider transport={transport}>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Confirmation />
      </QueryClientProvider>
    </TransportProvider>
  );
}
