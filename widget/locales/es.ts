/** Spanish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Pagar {amount}",
  processing: "Procesando el pago…",
  succeeded: "Pago completado.",
  pending: "Su pago tarda más de lo habitual. Todavía se está procesando: no vuelva a pagar.",
  expired: "Esta página de pago ha caducado. Empiece de nuevo.",
  expiresSoon: "Esta página de pago caducará pronto. Complete el pago ahora.",
  unreachable: "No se puede conectar con el servicio de pago. Compruebe su conexión e inténtelo de nuevo.",
  formUnavailable: "No se puede cargar el formulario de la tarjeta. Compruebe su conexión e inténtelo de nuevo.",
  tryAgain: "Intentar de nuevo",
  notAccepted: "No se puede pagar desde esta página. Póngase en contacto con la tienda.",
  declines: {
    card_declined: "Su tarjeta ha sido rechazada. Utilice otra tarjeta.",
    insufficient_funds: "La tarjeta no tiene fondos suficientes. Utilice otra tarjeta.",
    card_expired: "Esta tarjeta ha caducado. Utilice otra tarjeta.",
    incorrect_number: "El número de la tarjeta no es correcto. Revíselo e inténtelo de nuevo.",
    incorrect_cvc: "El código de seguridad no es correcto. Revíselo e inténtelo de nuevo.",
    card_not_supported: "Este tipo de tarjeta no se acepta. Utilice otra tarjeta.",
    limit_exceeded: "Este pago supera el límite de la tarjeta. Utilice otra tarjeta.",
    authentication_required: "Su banco pide una confirmación que no es posible aquí. Utilice otra tarjeta.",
    currency_not_supported: "Esta tarjeta no admite la moneda. Utilice otra tarjeta.",
    processing_unavailable: "No se ha podido procesar el pago. No se le ha cobrado nada. Inténtelo más tarde.",
    session_expired: "Esta página de pago ha caducado. Empiece de nuevo.",
  },
};
