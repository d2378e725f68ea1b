/** The table of connectors: the gateways that an environment can reach, and where. */
import type { CardForwarder } from "../card-vault/card-vault.ts";
import type { EnvironmentName, ServiceConfig } from "../config/checked-config.ts";
import { adyenTestOrigin } from "../gateways/adyen/api.ts";
import { AdyenAuthenticationProvider } from "../gateways/adyen/authentication-provider.ts";
import { AdyenConnector } from "../gateways/adyen/connector.ts";
import type { AuthenticationProvider } from "../gateways/authentication-provider.ts";
import type { Connector } from "../gateways/connector.ts";
import type { EmulatorOrigins } from "../gateways/gateway-origins.ts";
import { type GatewayObserver, observeConnector, observeProvider } from "../gateways/observed-connector.ts";
import { paypalOrigins } from "../gateways/paypal/api.ts";
import { PayPalConnector } from "../gateways/paypal/connector.ts";
import { SandboxAConnector } from "../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../gateways/sandbox/b/connector.ts";
import { stripeOrigin } from "../gateways/stripe/api.ts";
import { StripeConnector } from "../gateways/stripe/connector.ts";
import { ThreeDSecureIoProvider, threeDSecureIoOrigins } from "../gateways/threedsecureio/provider.ts";
import type { GatewayHttp } from "../platform/outbound-http.ts";

type ConnectorParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  readonly origin: string;
  readonly environment: EnvironmentName;
};

type ConnectorClass = new (parts: ConnectorParts) => Connector;

const sandboxGateways: readonly ConnectorClass[] = [SandboxAConnector, SandboxBConnector];

type RealGateway = Exclude<keyof EmulatorOrigins, "THREEDSECUREIO">;

/** Each real gateway's connector, and its origin in each environment. */
const realGateways: Readonly<
  Record<RealGateway, { Connector: ConnectorClass; origins: Readonly<Record<EnvironmentName, string>> }>
> = {
  STRIPE: { Connector: StripeConnector, origins: { test: stripeOrigin, live: stripeOrigin } },
  // A live account of Adyen's has its own origin, which its credentials name.
  ADYEN: { Connector: AdyenConnector, origins: { test: adyenTestOrigin, live: adyenTestOrigin } },
  PAYPAL: { Connector: PayPalConnector, origins: paypalOrigins },
};

/** Builds every provider of authentication that this installation can reach, by its name. */
export function buildProviders(
  environment: EnvironmentName,
  installation: Pick<ServiceConfig, "sandboxOrigin" | "emulatorOrigins">,
  { observer, ...ways }: { http: GatewayHttp; forwarder: CardForwarder; observer: GatewayObserver },
): ReadonlyMap<string, AuthenticationProvider> {
  const { sandboxOrigin } = installation;
  const emulators = installation.emulatorOrigins[environment];
  const sandbox =
    sandboxOrigin === undefined
      ? []
      : [new ThreeDSecureIoProvider({ ...ways, gateway: "SANDBOX_3DS", origin: sandboxOrigin })];
  const isReachable = reachableIn(environment, installation);
  const real = [
    ...(isReachable("THREEDSECUREIO")
      ? [
          new ThreeDSecureIoProvider({
            ...ways,
            gateway: "THREEDSECUREIO",
            origin: emulators.THREEDSECUREIO ?? threeDSecureIoOrigins[environment],
          }),
        ]
      : []),
    ...(isReachable("ADYEN")
      ? [new AdyenAuthenticationProvider({ ...ways, environment, origin: emulators.ADYEN ?? adyenTestOrigin })]
      : []),
  ];
  return new Map([...sandbox, ...real].map((provider) => [provider.gateway, observeProvider(provider, observer)]));
}

/**
 * Builds a connector for every gateway that this installation can reach, by its identifier. Sandbox gateways exist
 * where the operator enables them.
 */
export function buildConnectors(
  environment: EnvironmentName,
  installation: Pick<ServiceConfig, "sandboxOrigin" | "emulatorOrigins">,
  { observer, ...ways }: { http: GatewayHttp; forwarder: CardForwarder; observer: GatewayObserver },
): ReadonlyMap<string, Connector> {
  const { sandboxOrigin } = installation;
  const emulators = installation.emulatorOrigins[environment];
  const at = (origin: string): ConnectorParts => ({ ...ways, origin, environment });
  const sandbox =
    sandboxOrigin === undefined ? [] : sandboxGateways.map((Connector) => new Connector(at(sandboxOrigin)));
  const isReachable = reachableIn(environment, installation);
  const real = Object.entries(realGateways).flatMap(([gateway, { Connector, origins }]) =>
    isReachable(gateway as RealGateway)
      ? [new Connector(at(emulators[gateway as RealGateway] ?? origins[environment]))]
      : [],
  );
  return new Map([...sandbox, ...real].map((connector) => [connector.gateway, observeConnector(connector, observer)]));
}

/**
 * Returns whether a gateway is offered. Live has either real gateways or, beside sandbox gateways, emulators of them: a
 * demo never takes real money.
 */
function reachableIn(
  environment: EnvironmentName,
  { sandboxOrigin, emulatorOrigins }: Pick<ServiceConfig, "sandboxOrigin" | "emulatorOrigins">,
) {
  return (gateway: keyof EmulatorOrigins) =>
    environment === "test" || sandboxOrigin === undefined || emulatorOrigins.live[gateway] !== undefined;
}
