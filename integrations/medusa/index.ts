/** What Medusa loads: a provider of its payment module, as its own `ModuleProvider` would return it. */
import { SwitchyardProvider } from "./provider.ts";

export { cartCheck } from "./cart-check.ts";

export default { module: "payment", services: [SwitchyardProvider] };
